//! `POST /v1/attempts/{attempt}/consume`: wait for it and take it, in one call.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    ArtifactId, ArtifactKind, AttemptConsume, AttemptConsumed, AttemptId, AttemptView,
    OutcomeLabel, Timestamp, token_of,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::attempt_of;
use super::told::Told;
use super::wait;
use crate::auth::Caller;
use crate::body;
use crate::field::{Field, Fields, Wished};
use crate::list::parameters_of;
use crate::patience::{PREFERENCE_APPLIED, Patience, patiently};
use crate::problem::Problem;
use crate::reply;
use crate::request::idempotency_key;
use crate::routes::Feed;
use crate::{Policy, Settings};

/// What a caller may say in the body.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = ConsumeWish)]
pub(crate) struct Wish {
    /// For how many seconds to wait; the parameter `wait` and `Prefer: wait=N` say
    /// the same.
    wait: Option<u64>,
}

impl Wished for Wish {
    fn fields(settings: &Settings, _: &Policy) -> Vec<Field> {
        let most = settings.wait_limit.as_secs();
        vec![Field::number("wait", 0..=most, "seconds")]
    }
}

/// The parameters; any other is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    wait: Option<u64>,
}

/// The value, or the one field of it that was asked for. Built from a committed
/// consume alone.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = AttemptDisclosure)]
pub(crate) struct Disclosure<'a> {
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
    #[schema(value_type = String, format = DateTime)]
    consumed_at: Timestamp,
}

/// Waits for an attempt's artifact and consumes it.
///
/// Returns: 200 with the value, also for the same caller's retry with the same
/// key; 200 with the state and no value when there is nothing to consume, also
/// after the wait; 400 without a fitting key, for an odd body,
/// or when the body and the parameter both say how long to wait; 401 without a
/// token; 404 for an attempt that is not there or not the caller's; 409 when it
/// was consumed by another request; 422 for a key that was used otherwise; 429
/// when the key has too many waits open; 503 when the store is away.
pub(crate) async fn consume(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let idempotency_key = idempotency_key(request.headers())?;
    let parameters: Parameters = parameters_of(&request)?;
    let wish: Wish = body::object(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let most = feed.deps.settings.wait_limit;
    let patience = match (wish.wait, parameters.wait) {
        (None, parameter) => Patience::of(parameter, request.headers(), most)?,
        (Some(seconds), None) => {
            Fields::of::<Wish>(&feed).check("wait", seconds)?;
            Patience::told(seconds)
        }
        (Some(_), Some(_)) => return Err(Problem::InvalidParameter),
    };

    let view = wait::until(&feed, &caller, attempt, patience.span, wait::is_ready).await?;
    let asked = AttemptConsume {
        attempt,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key,
        replay_window: feed.deps.settings.replay_window,
    };
    let consumed = patiently(feed.deps.attempts.consume_attempt(&asked)).await;
    count(&feed, consumed.as_ref().ok());
    let mut response = answer(&feed, &view, consumed?).await?;
    if let Some(applied) = patience.applied {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

async fn answer(
    feed: &Feed,
    attempt: &AttemptView,
    consumed: AttemptConsumed,
) -> Result<HttpResponse, Problem> {
    match consumed {
        AttemptConsumed::Value {
            artifact,
            kind,
            value,
            at,
            is_replay,
        } => {
            let response = disclose(attempt, artifact, kind, &value, at)?;
            Ok(if is_replay {
                reply::replayed(response)
            } else {
                response
            })
        }
        AttemptConsumed::NotReady(view) => {
            let told = Told::of(feed, *view).await?;
            Ok(reply::json(StatusCode::OK, "application/json", &told))
        }
        AttemptConsumed::Already { at } => Err(Problem::AlreadyConsumed(at)),
        AttemptConsumed::KeyReused => Err(Problem::IdempotencyKeyReused),
        AttemptConsumed::Unknown => Err(Problem::NotFound),
    }
}

fn disclose(
    attempt: &AttemptView,
    artifact: ArtifactId,
    kind: ArtifactKind,
    value: &SecretString,
    consumed_at: Timestamp,
) -> Result<HttpResponse, Problem> {
    let value = value.expose_secret();
    // Only links that have the field are for such an attempt.
    let name = attempt.rules.token.as_deref();
    let token = name.map(|name| token_of(value, name)).transpose();
    let token = token.map_err(|_never| Problem::Internal)?;
    let value = token.is_none().then_some(value);
    let disclosure = Disclosure {
        attempt: attempt.id,
        artifact,
        state: "consumed",
        kind,
        value,
        token: token.as_deref(),
        consumed_at,
    };
    Ok(reply::json(StatusCode::OK, "application/json", &disclosure))
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
    let label = OutcomeLabel::new("attempt", outcome);
    feed.deps.meters.consumes.get_or_create(&label).inc();
}
