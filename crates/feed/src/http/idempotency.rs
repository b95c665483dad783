//! Idempotency keys: the same request under the same key is done once.

use actix_web::http::header::{HeaderMap, HeaderName};
use pipeline::{IdempotencyKey, Request, RequestKind};
use serde::Serialize;

use super::problem::Problem;
use crate::auth::Caller;
use crate::state::Feed;

/// The header, as the draft of the IETF's HTTPAPI group names it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key of a request that must have one.
pub(crate) fn required_key(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
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

/// A keyed hash of the path and of the body as it was understood. Two spellings of
/// the same body have the same tag, and the tag reveals nothing about the body.
pub(crate) fn request_tag(
    feed: &Feed,
    kind: RequestKind,
    path: &str,
    body: &impl Serialize,
) -> Result<[u8; 16], Problem> {
    let body = serde_json::to_vec(body).map_err(|_never| Problem::Internal)?;
    let fields = [b"request", kind.as_str().as_bytes(), path.as_bytes(), &body];
    Ok(feed.deps.cursor_key.tag(&fields))
}

/// The request to remember, if the caller sent a key for it.
pub(crate) fn keyed_request(
    caller: &Caller,
    kind: RequestKind,
    key: Option<IdempotencyKey>,
    tag: [u8; 16],
) -> Option<Request> {
    key.map(|key| Request {
        consumer: caller.consumer.clone(),
        kind,
        key,
        tag,
    })
}
