//! What a caller says in a body: a small JSON object with known fields, or
//! nothing.

use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::web;
use pipeline::IdempotencyKey;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Whoever sends more has misunderstood something.
const LONGEST_BODY: usize = 16 * 1024;
/// A body that drips in holds a connection for this long at most.
const BODY_PATIENCE: Duration = Duration::from_secs(5);

/// The name of the header, as the draft of the IETF's HTTPAPI group has it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Reads an object; an empty body is one without fields. Unknown fields are
/// refused by the type, for a misspelt one that is ignored costs its writer an
/// afternoon.
pub(crate) async fn object<T: DeserializeOwned>(body: web::Payload) -> Result<T, Problem> {
    let read = tokio::time::timeout(BODY_PATIENCE, body.to_bytes_limited(LONGEST_BODY));
    let bytes = match read.await {
        Ok(Ok(Ok(bytes))) => bytes,
        Ok(Ok(Err(_)) | Err(_)) => return Err(Problem::InvalidBody),
        Err(_elapsed) => return Err(Problem::RequestTimeout),
    };
    // Not straight into the type: serde reads a list as a struct, too.
    let fields: Map<String, Value> = if bytes.is_empty() {
        Map::new()
    } else {
        serde_json::from_slice(&bytes).map_err(|_odd| Problem::InvalidBody)?
    };
    serde_json::from_value(Value::Object(fields)).map_err(|_odd| Problem::InvalidBody)
}

/// The key of a request that needs one.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    optional_key(headers)?.ok_or(Problem::IdempotencyKeyRequired)
}

/// The key of a request that may have one.
pub(crate) fn optional_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let mut all = headers.get_all(IDEMPOTENCY_KEY);
    let Some(first) = all.next() else {
        return Ok(None);
    };
    let key = first.to_str().ok().and_then(|text| text.parse().ok());
    let only = key.filter(|_| all.next().is_none());
    only.map(Some).ok_or(Problem::IdempotencyKeyInvalid)
}
