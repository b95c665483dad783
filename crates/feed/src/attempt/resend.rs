//! `POST /v1/attempts/{attempt}/resend`: asks permission to request another mail from
//! the sender. The server sends nothing itself; it limits how often an agent does.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{AttemptId, ResendOutcome, ResendRequest};
use serde::Serialize;

use super::attempt_of;
use crate::auth::Caller;
use crate::http::body::{EmptyBody, read_body};
use crate::http::idempotency::required_key;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// The permission to request another mail, and how many are left.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Grant)]
pub(crate) struct ResendBody {
    #[schema(value_type = String)]
    attempt: AttemptId,
    resends_left: u32,
}

/// Uses one resend of the attempt.
///
/// Returns: 200 if the agent may request another mail, also for a retry with the same
/// idempotency key; 400 without a valid idempotency key or with a body that has fields;
/// 401 without a valid API key; 404 for an attempt that does not exist for the caller;
/// 409 if no resend is left or the attempt has ended; 422 if the idempotency key was
/// used for another attempt; 503 if the store is unavailable.
pub(crate) async fn resend(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = required_key(request.headers())?;
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let request = ResendRequest {
        attempt,
        consumer: caller.consumer,
        scope: caller.scope,
        idempotency_key: key,
    };
    let resent = ask_store(feed.deps.attempts.resend(&request)).await?;
    let granted = |resends_left| {
        let body = ResendBody {
            attempt,
            resends_left,
        };
        reply::json(StatusCode::OK, &body)
    };
    match resent {
        ResendOutcome::Granted { left } => Ok(granted(left)),
        ResendOutcome::Repeated { left } => Ok(reply::replayed(granted(left))),
        ResendOutcome::Spent => Err(Problem::ResendsSpent),
        ResendOutcome::Over => Err(Problem::AttemptOver),
        ResendOutcome::KeyReused => Err(Problem::IdempotencyKeyReused),
        ResendOutcome::Unknown => Err(Problem::NotFound),
    }
}
