//! Request bodies: a small JSON object with known fields, or nothing.

mod unique_names;

use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, HeaderMap};
use actix_web::{HttpRequest, web};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::field::{Field, Fields, RequestBody};
use super::problem::{InvalidBody, Problem};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

use unique_names::UniqueNames;

/// No request needs a longer body.
const MAX_LENGTH: usize = 16 * 1024;
/// The same for a list of requests.
const MAX_LONG_LENGTH: usize = 512 * 1024;
/// How long a slow body may hold its connection.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The body of a request that needs none: empty, or an empty object.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Nothing)]
pub(crate) struct EmptyBody {}

impl RequestBody for EmptyBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        Vec::new()
    }
}

/// Reads the body. An empty body is an object without fields. The type refuses
/// unknown fields, because an ignored typo would cost its author hours.
pub(crate) async fn read_body<T: RequestBody>(
    request: &HttpRequest,
    payload: web::Payload,
    feed: &Feed,
) -> Result<T, Problem> {
    read_up_to(request, payload, feed, MAX_LENGTH).await
}

/// The same for a body that lists many.
pub(crate) async fn read_long_body<T: RequestBody>(
    request: &HttpRequest,
    payload: web::Payload,
    feed: &Feed,
) -> Result<T, Problem> {
    read_up_to(request, payload, feed, MAX_LONG_LENGTH).await
}

async fn read_up_to<T: RequestBody>(
    request: &HttpRequest,
    payload: web::Payload,
    feed: &Feed,
    max_length: usize,
) -> Result<T, Problem> {
    if !is_plain(request.headers()) {
        return Err(Problem::UnsupportedEncoding);
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, payload.to_bytes_limited(max_length));
    let bytes = match read.await {
        Ok(Ok(Ok(bytes))) => bytes,
        Ok(Ok(Err(_)) | Err(_)) => {
            let rule = format!("at most {max_length} bytes");
            return Err(Problem::InvalidBody(InvalidBody::whole(rule)));
        }
        Err(_elapsed) => return Err(Problem::RequestTimeout),
    };
    let object = object_of(&bytes).map_err(Problem::InvalidBody)?;
    serde_json::from_value(Value::Object(object.clone())).map_err(|_invalid| {
        let fields = Fields::of::<T>(feed);
        Problem::InvalidBody(find_invalid(object, &fields, parses::<T>))
    })
}

/// Whether a body has no content encoding. The server never decompresses: a small
/// body could become a large one.
fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// The JSON object, before its fields are checked.
fn object_of(bytes: &[u8]) -> Result<Map<String, Value>, InvalidBody> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    // Not straight into the type: serde would also accept a list for a struct.
    match serde_json::from_slice(bytes) {
        Ok(UniqueNames(Value::Object(fields))) => Ok(fields),
        Err(error) if error.is_data() => Err(InvalidBody::whole("each field once")),
        Ok(_) | Err(_) => Err(InvalidBody::whole("one JSON object")),
    }
}

fn parses<T: DeserializeOwned>(fields: Map<String, Value>) -> bool {
    serde_json::from_value::<T>(Value::Object(fields)).is_ok()
}

/// Which field is invalid. Every field has a default, so each can be parsed alone.
fn find_invalid(
    object: Map<String, Value>,
    fields: &Fields,
    parses: impl Fn(Map<String, Value>) -> bool,
) -> InvalidBody {
    if object.keys().any(|name| !fields.contains(name)) {
        return fields.unknown();
    }
    for (name, value) in object {
        if !parses(Map::from_iter([(name.clone(), value)])) {
            return fields.violated(&name);
        }
    }
    InvalidBody::whole("one JSON object")
}
