//! `POST /v1/artifacts/{artifact}/consume`: get the value of an artifact, once.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    ArtifactId, ArtifactKind, ConsumeRequest, Consumed, Reason, SenderProof, Timestamp,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::auth::Caller;
use crate::http::body::{EmptyBody, read_body};
use crate::http::idempotency::required_key;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// The value of an artifact. It is built only after the consume is committed.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Disclosure)]
pub(crate) struct DisclosureBody<'a> {
    #[schema(value_type = String)]
    id: ArtifactId,
    #[schema(value_type = String)]
    kind: ArtifactKind,
    value: &'a str,
    /// Whether it is proven which domain the mail with the value comes from.
    sender_verified: bool,
    /// What proves it (`provider` or `dkim`), or why it is not proven.
    #[schema(value_type = String)]
    sender_proof: Reason,
    #[schema(value_type = String, format = DateTime)]
    consumed_at: Timestamp,
}

/// Consumes an artifact.
///
/// Returns: 200 with the value, also for a retry with the same idempotency key; 400
/// without a valid idempotency key or with a body that has fields; 401 without a
/// valid API key; 404 if it does not exist for the caller; 409 if it is already
/// consumed, withheld or replaced by a newer one; 410 if it has expired; 422 if the
/// idempotency key was used for another artifact; 503 if the store is unavailable.
pub(crate) async fn consume(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let idempotency_key = required_key(request.headers())?;
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    let artifact = path.parse().map_err(|_invalid| Problem::NotFound)?;

    let request = ConsumeRequest {
        artifact,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key,
        replay_window: feed.deps.settings.replay_window,
    };
    let consumed = ask_store(feed.deps.log.consume(&request)).await;
    count(&feed, consumed.as_ref().ok());
    log(&request, consumed.as_ref().ok());
    respond(artifact, consumed?)
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
    feed.deps.meters.consumes("artifact", outcome).inc();
}

/// Logs who got a value, without the value.
fn log(request: &ConsumeRequest, consumed: Option<&Consumed>) {
    let (kind, is_replay) = match consumed {
        Some(Consumed::First { kind, .. }) => (kind, false),
        Some(Consumed::Replayed { kind, .. }) => (kind, true),
        _ => return,
    };
    tracing::info!(
        artifact.id = %request.artifact,
        artifact.kind = kind.as_str(),
        consumer = request.consumer.as_str(),
        is_replay,
        "value disclosed"
    );
}

fn respond(id: ArtifactId, consumed: Consumed) -> Result<HttpResponse, Problem> {
    match consumed {
        Consumed::First {
            kind,
            value,
            sender_proof,
            at,
        } => Ok(disclose(id, kind, &value, &sender_proof, at)),
        Consumed::Replayed {
            kind,
            value,
            sender_proof,
            at,
        } => {
            let response = disclose(id, kind, &value, &sender_proof, at);
            Ok(reply::replayed(response))
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
    sender_proof: &SenderProof,
    consumed_at: Timestamp,
) -> HttpResponse {
    let disclosure = DisclosureBody {
        id,
        kind,
        value: value.expose_secret(),
        sender_verified: sender_proof.holds(),
        sender_proof: Reason::from_stored(sender_proof.as_str()),
        consumed_at,
    };
    reply::json(StatusCode::OK, &disclosure)
}
