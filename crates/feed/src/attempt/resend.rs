//! `POST /v1/attempts/{attempt}/resend`: may the sender be asked for another
//! mail? Nothing is sent from here; this guards the loop that would.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{AttemptId, ResendOutcome, ResendRequest};
use serde::Serialize;

use super::attempt_of;
use crate::auth::Caller;
use crate::body;
use crate::consume::Nothing;
use crate::patience::patiently;
use crate::problem::Problem;
use crate::reply;
use crate::request::idempotency_key;
use crate::routes::Feed;

#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Grant {
    #[schema(value_type = String)]
    attempt: AttemptId,
    resends_left: u32,
}

/// Takes one from the budget of resends.
///
/// Returns: 200 when the sender may be asked, also for a retry with the same
/// key; 400 without a fitting key or with a body that says anything; 401 without
/// a token; 404 for an attempt that is not there or not the caller's; 409 when
/// the budget is spent or the attempt is over; 422 for a key that was used for
/// another attempt; 503 when the store is away.
pub(crate) async fn resend(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = idempotency_key(request.headers())?;
    let Nothing {} = body::object(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let asked = ResendRequest {
        attempt,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key: key,
    };
    let resent = patiently(feed.deps.attempts.resend(&asked)).await?;
    let grant = |resends_left| {
        let grant = Grant {
            attempt,
            resends_left,
        };
        reply::json(StatusCode::OK, "application/json", &grant)
    };
    match resent {
        ResendOutcome::Granted { left } => Ok(grant(left)),
        ResendOutcome::Repeated { left } => Ok(reply::replayed(grant(left))),
        ResendOutcome::Spent => Err(Problem::ResendsSpent),
        ResendOutcome::Over => Err(Problem::AttemptOver),
        ResendOutcome::KeyReused => Err(Problem::IdempotencyKeyReused),
        ResendOutcome::Unknown => Err(Problem::NotFound),
    }
}
