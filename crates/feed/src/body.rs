//! What a caller says in a body: a small JSON object with known fields, or
//! nothing.

use std::time::Duration;

use actix_web::web;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Whoever sends more has misunderstood something.
const LONGEST_BODY: usize = 16 * 1024;
/// A body that drips in holds a connection for this long at most.
const BODY_PATIENCE: Duration = Duration::from_secs(5);

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
