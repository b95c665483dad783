//! `POST /v1/attempts/{attempt}/finish`: the agent reports how the attempt ended.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{AttemptFinished, AttemptOutcome, AttemptView, RequestKind};
use serde::Deserialize;

use super::attempt_body::AttemptBody;
use super::attempt_of;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The request body.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Report)]
pub(crate) struct FinishRequestBody {
    /// How the attempt ended.
    #[schema(value_type = FinishOutcome, required = true)]
    outcome: Option<FinishOutcome>,
}

impl RequestBody for FinishRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let words = AttemptOutcome::ALL.map(AttemptOutcome::as_str);
        vec![Field::word("outcome", &words)]
    }
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Outcome)]
enum FinishOutcome {
    Succeeded,
    Failed,
    Abandoned,
}

/// Ends an attempt: no later mail is for it. Repeating the request changes nothing,
/// with the same `Idempotency-Key` or without one.
///
/// Returns: 200 with the attempt; 400 for an invalid body; 401 without a valid key; 404
/// for an attempt that does not exist for the caller; 409 if it was finished with
/// another outcome; 422 if the idempotency key was used for another request; 503 if the
/// store is unavailable.
pub(crate) async fn finish(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: FinishRequestBody = read_body(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let outcome = match body.outcome {
        Some(FinishOutcome::Succeeded) => AttemptOutcome::Succeeded,
        Some(FinishOutcome::Failed) => AttemptOutcome::Failed,
        Some(FinishOutcome::Abandoned) => AttemptOutcome::Abandoned,
        None => return Err(Fields::of::<FinishRequestBody>(&feed).invalid("outcome")),
    };
    let tag = request_tag(&feed, RequestKind::Finish, &path, &outcome)?;
    let request = keyed_request(&caller, RequestKind::Finish, key, tag);
    let attempts = &feed.deps.attempts;
    let ended = attempts.finish_attempt(attempt, &caller.scope, outcome, request.as_ref());
    match ask_store(ended).await? {
        AttemptFinished::Finished(view) => {
            feed.deps.meters.attempts(outcome.as_str()).inc();
            respond(&feed, *view).await
        }
        AttemptFinished::Repeated(view) => Ok(reply::replayed(respond(&feed, *view).await?)),
        AttemptFinished::KeyReused => Err(Problem::IdempotencyKeyReused),
        AttemptFinished::OtherOutcome(_) => Err(Problem::AttemptOver),
        AttemptFinished::Unknown => Err(Problem::NotFound),
    }
}

async fn respond(feed: &Feed, view: AttemptView) -> Result<HttpResponse, Problem> {
    let body = AttemptBody::new(feed, view).await?;
    Ok(reply::json(StatusCode::OK, &body))
}
