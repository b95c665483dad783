//! A request that may come twice: its sender's word for it, and what it said.

use actix_web::http::header::{HeaderMap, HeaderName};
use pipeline::{IdempotencyKey, Request, RequestKind};
use serde::Serialize;

use crate::auth::Caller;
use crate::problem::Problem;
use crate::routes::Feed;

/// The name of the header, as the draft of the IETF's HTTPAPI group has it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

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

/// What was said, without its words: a keyed hash of the path and of the body as it
/// was understood, so that two ways to write the same are the same.
pub(crate) fn tag(
    feed: &Feed,
    kind: RequestKind,
    path: &str,
    said: &impl Serialize,
) -> Result<[u8; 16], Problem> {
    let said = serde_json::to_vec(said).map_err(|_never| Problem::Internal)?;
    let fields = [b"request", kind.as_str().as_bytes(), path.as_bytes(), &said];
    Ok(feed.deps.cursor_key.tag(&fields))
}

/// The request, if its sender has a word for it.
pub(crate) fn named(
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
