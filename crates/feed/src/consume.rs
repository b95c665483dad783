//! `POST /v1/artifacts/{artifact}/consume`: the one use of an artifact.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    ArtifactId, ArtifactKind, ConsumeRequest, Consumed, IdempotencyKey, Outcome, Timestamp,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::auth::Caller;
use crate::list::patiently;
use crate::problem::Problem;
use crate::reply;
use crate::routes::Feed;

/// `{}` and white space; whoever sends more has misunderstood something.
const LONGEST_BODY: usize = 1024;
/// A body that drips in holds a connection for this long at most.
const BODY_PATIENCE: Duration = Duration::from_secs(5);

/// The names of the headers, as the draft of the IETF's HTTPAPI group has them.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The value and what it is. This is the one struct of the crate that a value
/// is written into, and it is built from a committed consume alone.
#[derive(Serialize)]
struct Disclosure<'a> {
    id: ArtifactId,
    kind: ArtifactKind,
    value: &'a str,
    consumed_at: Timestamp,
}

/// Consumes an artifact.
///
/// Returns: 200 with the value, also for the same consumer's retry with the same
/// key; 400 without a fitting key or with a body that says anything; 401 without
/// a token; 404 for what is not there or not the caller's; 409 when it was
/// consumed before, is withheld or was superseded by a newer one; 410 when it has expired; 422 for a key that
/// was used for another artifact; 503 when the store is away.
pub(crate) async fn consume(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    body: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let idempotency_key = idempotency_key(request.headers())?;
    expect_no_wishes(body).await?;
    let artifact = path.parse().map_err(|_unfit| Problem::NotFound)?;

    let request = ConsumeRequest {
        artifact,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key,
        replay_window: feed.deps.settings.replay_window,
    };
    let consumed = patiently(feed.deps.log.consume(&request)).await;
    count(&feed, consumed.as_ref().ok());
    answer(artifact, consumed?)
}

fn idempotency_key(headers: &HeaderMap) -> Result<IdempotencyKey, Problem> {
    let mut all = headers.get_all(IDEMPOTENCY_KEY);
    let first = all.next().ok_or(Problem::IdempotencyKeyRequired)?;
    let key = first.to_str().ok().and_then(|text| text.parse().ok());
    key.filter(|_| all.next().is_none())
        .ok_or(Problem::IdempotencyKeyInvalid)
}

/// What a caller may say in the body: nothing yet.
async fn expect_no_wishes(body: web::Payload) -> Result<(), Problem> {
    let read = tokio::time::timeout(BODY_PATIENCE, body.to_bytes_limited(LONGEST_BODY));
    let bytes = match read.await {
        Ok(Ok(Ok(bytes))) => bytes,
        Ok(Ok(Err(_)) | Err(_)) => return Err(Problem::InvalidBody),
        Err(_elapsed) => return Err(Problem::RequestTimeout),
    };
    if bytes.is_empty() {
        return Ok(());
    }
    // Not a struct without fields: serde reads `[]` as one, too.
    match serde_json::from_slice::<Map<String, Value>>(&bytes) {
        Ok(wishes) if wishes.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err(Problem::InvalidBody),
    }
}

fn count(feed: &Feed, consumed: Option<&Consumed>) {
    let outcome = match consumed {
        Some(Consumed::First { .. }) => "first",
        Some(Consumed::Replayed { .. }) => "replayed",
        Some(Consumed::Already { .. }) => "already",
        Some(Consumed::KeyReused) => "key_reused",
        Some(Consumed::Withheld(_)) => "withheld",
        Some(Consumed::Superseded) => "superseded",
        Some(Consumed::Expired { .. }) => "expired",
        Some(Consumed::Unknown) => "unknown",
        None => "failed",
    };
    let label = Outcome::new("feed", outcome);
    feed.deps.meters.consumes.get_or_create(&label).inc();
}

fn answer(id: ArtifactId, consumed: Consumed) -> Result<HttpResponse, Problem> {
    match consumed {
        Consumed::First { kind, value, at } => Ok(disclose(id, kind, &value, at)),
        Consumed::Replayed { kind, value, at } => {
            let mut response = disclose(id, kind, &value, at);
            response
                .headers_mut()
                .insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
            Ok(response)
        }
        Consumed::Already { at } => Err(Problem::AlreadyConsumed(at)),
        Consumed::KeyReused => Err(Problem::IdempotencyKeyReused),
        Consumed::Withheld(reason) => Err(Problem::Withheld(reason)),
        Consumed::Superseded => Err(Problem::Superseded),
        Consumed::Expired { at } => Err(Problem::Expired(at)),
        Consumed::Unknown => Err(Problem::NotFound),
    }
}

fn disclose(
    id: ArtifactId,
    kind: ArtifactKind,
    value: &SecretString,
    consumed_at: Timestamp,
) -> HttpResponse {
    let disclosure = Disclosure {
        id,
        kind,
        value: value.expose_secret(),
        consumed_at,
    };
    reply::json(StatusCode::OK, "application/json", &disclosure)
}
