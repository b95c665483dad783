//! What a caller says in a body: a small JSON object with known fields, or
//! nothing.

mod once;

use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, HeaderMap};
use actix_web::{HttpRequest, web};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::field::{Fields, Wished};
use crate::problem::{Problem, Unfit};
use crate::routes::Feed;

use once::Once;

/// Whoever sends more has misunderstood something.
const LONGEST_BODY: usize = 16 * 1024;
/// A body that drips in holds a connection for this long at most.
const BODY_PATIENCE: Duration = Duration::from_secs(5);

/// Reads an object; an empty body is one without fields. Unknown fields are
/// refused by the type, for a misspelt one that is ignored costs its writer an
/// afternoon.
pub(crate) async fn object<T: Wished>(
    request: &HttpRequest,
    body: web::Payload,
    feed: &Feed,
) -> Result<T, Problem> {
    if !is_plain(request.headers()) {
        return Err(Problem::UnsupportedEncoding);
    }
    let read = tokio::time::timeout(BODY_PATIENCE, body.to_bytes_limited(LONGEST_BODY));
    let bytes = match read.await {
        Ok(Ok(Ok(bytes))) => bytes,
        Ok(Ok(Err(_)) | Err(_)) => {
            let rule = format!("at most {LONGEST_BODY} bytes");
            return Err(Problem::InvalidBody(Unfit::whole(rule)));
        }
        Err(_elapsed) => return Err(Problem::RequestTimeout),
    };
    let said = said(&bytes).map_err(Problem::InvalidBody)?;
    serde_json::from_value(Value::Object(said.clone()))
        .map_err(|_odd| Problem::InvalidBody(why(said, &Fields::of::<T>(feed), is_fit::<T>)))
}

/// Whether a body is what it looks like. Nothing is decompressed here: a small
/// body could become a large one.
fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The fields as they were written.
fn said(bytes: &[u8]) -> Result<Map<String, Value>, Unfit> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    // Not straight into the type: serde reads a list as a struct, too.
    match serde_json::from_slice(bytes) {
        Ok(Once(Value::Object(fields))) => Ok(fields),
        Err(error) if error.is_data() => Err(Unfit::whole("each field once")),
        Ok(_) | Err(_) => Err(Unfit::whole("one JSON object")),
    }
}

fn is_fit<T: DeserializeOwned>(fields: Map<String, Value>) -> bool {
    serde_json::from_value::<T>(Value::Object(fields)).is_ok()
}

/// Which field does not fit. The types have a default for every field, so each can
/// be tried alone.
fn why(
    said: Map<String, Value>,
    fields: &Fields,
    is_fit: impl Fn(Map<String, Value>) -> bool,
) -> Unfit {
    if said.keys().any(|name| !fields.know(name)) {
        return Unfit::whole("unknown_field");
    }
    for (name, value) in said {
        if !is_fit(Map::from_iter([(name.clone(), value)])) {
            return fields.rule_of(&name);
        }
    }
    Unfit::whole("one JSON object")
}
