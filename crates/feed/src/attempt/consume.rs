//! `POST /v1/attempts/{attempt}/consume`: wait for the value and consume it, in one
//! request.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    ArtifactId, ArtifactKind, AttemptConsume, AttemptConsumed, AttemptId, AttemptView, Reason,
    Timestamp, token_of,
};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::attempt_body::AttemptBody;
use super::attempt_of;
use super::wait::{has_value, wait_until};
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::required_key;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::{WaitTime, ask_store};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The request body.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = ConsumeWish)]
pub(crate) struct ConsumeRequestBody {
    /// How many seconds to wait. The parameter `wait` and `Prefer: wait=N` do the same.
    wait: Option<u64>,
}

impl RequestBody for ConsumeRequestBody {
    fn fields(settings: &Settings, _: &Policy) -> Vec<Field> {
        let max = settings.wait_limit.as_secs();
        vec![Field::number("wait", 0..=max, "seconds")]
    }
}

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    wait: Option<u64>,
}

/// The value, or only the field of the link that the attempt asked for. It is built
/// only after the consume is committed.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = AttemptDisclosure)]
pub(crate) struct AttemptDisclosureBody<'a> {
    #[schema(value_type = String)]
    attempt: AttemptId,
    #[schema(value_type = String)]
    artifact: ArtifactId,
    #[schema(value_type = String)]
    state: &'static str,
    #[schema(value_type = String)]
    kind: ArtifactKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    /// Whether it is proven which domain the mail with the value comes from.
    sender_verified: bool,
    /// What proves it (`provider` or `dkim`), or why it is not proven.
    #[schema(value_type = String)]
    sender_proof: Reason,
    #[schema(value_type = String, format = DateTime)]
    consumed_at: Timestamp,
}

/// Waits for an attempt's artifact and consumes it.
///
/// Returns: 200 with the value, also for a retry with the same idempotency key; 200
/// with the state and no value if there is nothing to consume, also after the wait;
/// 400 without a valid idempotency key, for an invalid body, or if both the body and
/// the query say how long to wait; 401 without a valid API key; 404 for an attempt that
/// does not exist for the caller; 409 if another request has consumed it; 422 if the
/// idempotency key was used for another request; 429 if the API key has too many waits
/// open; 503 if the store is unavailable.
pub(crate) async fn consume(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let idempotency_key = required_key(request.headers())?;
    let parameters: Parameters = parameters_of(&request)?;
    let body: ConsumeRequestBody = read_body(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let max = feed.deps.settings.wait_limit;
    let wait = match (body.wait, parameters.wait) {
        (None, parameter) => WaitTime::requested(parameter, request.headers(), max)?,
        (Some(seconds), None) => {
            Fields::of::<ConsumeRequestBody>(&feed).check("wait", seconds)?;
            WaitTime::exactly(seconds)
        }
        (Some(_), Some(_)) => return Err(Problem::InvalidParameter),
    };

    let view = wait_until(&feed, &caller, attempt, wait.timeout, has_value).await?;
    let consume = AttemptConsume {
        attempt,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key,
        replay_window: feed.deps.settings.replay_window,
    };
    // If the client has hung up, Actix drops this handler here, before the commit.
    tokio::task::yield_now().await;
    let consumed = ask_store(feed.deps.attempts.consume_attempt(&consume)).await;
    count(&feed, consumed.as_ref().ok());
    log(&consume, consumed.as_ref().ok());
    Ok(wait.report(respond(&feed, &view, consumed?).await?))
}

async fn respond(
    feed: &Feed,
    attempt: &AttemptView,
    consumed: AttemptConsumed,
) -> Result<HttpResponse, Problem> {
    match consumed {
        AttemptConsumed::Value {
            artifact,
            kind,
            value,
            sender_proof,
            at,
            is_replay,
        } => {
            let value = value.expose_secret();
            let token = token_in(attempt, value)?;
            let disclosure = AttemptDisclosureBody {
                attempt: attempt.id,
                artifact,
                state: "consumed",
                kind,
                value: token.is_none().then_some(value),
                token: token.as_deref(),
                sender_verified: sender_proof.holds(),
                sender_proof: Reason::from_stored(sender_proof.as_str()),
                consumed_at: at,
            };
            let response = reply::json(StatusCode::OK, &disclosure);
            Ok(if is_replay {
                reply::replayed(response)
            } else {
                response
            })
        }
        AttemptConsumed::NotReady(view) => {
            let body = AttemptBody::new(feed, *view).await?;
            Ok(reply::json(StatusCode::OK, &body))
        }
        AttemptConsumed::Already { at } => Err(Problem::AlreadyConsumed(at)),
        AttemptConsumed::KeyReused => Err(Problem::IdempotencyKeyReused),
        AttemptConsumed::Unknown => Err(Problem::NotFound),
    }
}

/// The field of the link that the attempt asked for, if it asked for one.
fn token_in<'v>(attempt: &AttemptView, value: &'v str) -> Result<Option<Cow<'v, str>>, Problem> {
    // A link without the field never becomes the artifact of such an attempt.
    let name = attempt.rules.token.as_deref();
    let token = name.map(|name| token_of(value, name)).transpose();
    token.map_err(|_never| Problem::Internal)
}

/// Logs who got a value, without the value.
fn log(request: &AttemptConsume, consumed: Option<&AttemptConsumed>) {
    let Some(AttemptConsumed::Value {
        artifact,
        kind,
        is_replay,
        ..
    }) = consumed
    else {
        return;
    };
    tracing::info!(
        artifact.id = %artifact,
        artifact.kind = kind.as_str(),
        attempt.id = %request.attempt,
        consumer = request.consumer.as_str(),
        is_replay,
        "value disclosed"
    );
}

fn count(feed: &Feed, consumed: Option<&AttemptConsumed>) {
    let outcome = match consumed {
        Some(AttemptConsumed::Value {
            is_replay: false, ..
        }) => "first",
        Some(AttemptConsumed::Value {
            is_replay: true, ..
        }) => "replayed",
        Some(AttemptConsumed::NotReady(_)) => "not_ready",
        Some(AttemptConsumed::Already { .. }) => "already",
        Some(AttemptConsumed::KeyReused) => "key_reused",
        Some(AttemptConsumed::Unknown) => "unknown",
        None => "failed",
    };
    feed.deps.meters.consumes("attempt", outcome).inc();
}
