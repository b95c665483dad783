//! `POST /v1/artifacts/{artifact}/consume`: the one use of an artifact.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ArtifactId, ArtifactKind, ConsumeRequest, Consumed, OutcomeLabel, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::auth::Caller;
use crate::body;
use crate::field::{Field, Wished};
use crate::patience::patiently;
use crate::problem::Problem;
use crate::reply;
use crate::request::idempotency_key;
use crate::routes::Feed;
use crate::{Policy, Settings};

/// The value and what it is. This is the one struct of the crate that a value
/// is written into, and it is built from a committed consume alone.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Disclosure<'a> {
    #[schema(value_type = String)]
    id: ArtifactId,
    #[schema(value_type = String)]
    kind: ArtifactKind,
    value: &'a str,
    #[schema(value_type = String, format = DateTime)]
    consumed_at: Timestamp,
}

/// What a caller may say in the body.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl Wished for Nothing {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        Vec::new()
    }
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
    let Nothing {} = body::object(&request, body, &feed).await?;
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
    let label = OutcomeLabel::new("feed", outcome);
    feed.deps.meters.consumes.get_or_create(&label).inc();
}

fn answer(id: ArtifactId, consumed: Consumed) -> Result<HttpResponse, Problem> {
    match consumed {
        Consumed::First { kind, value, at } => Ok(disclose(id, kind, &value, at)),
        Consumed::Replayed { kind, value, at } => {
            Ok(reply::replayed(disclose(id, kind, &value, at)))
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
