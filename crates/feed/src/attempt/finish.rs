//! `POST /v1/attempts/{attempt}/finish`: how it ended.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{AttemptFinished, AttemptOutcome, AttemptView, RequestKind};
use serde::Deserialize;

use super::attempt_of;
use super::told::Told;
use crate::auth::Caller;
use crate::body;
use crate::field::{Field, Fields, Wished};
use crate::patience::patiently;
use crate::problem::Problem;
use crate::reply;
use crate::request::{self, optional_key};
use crate::routes::Feed;
use crate::{Policy, Settings};

/// What a caller says in the body.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    #[schema(value_type = Outcome, required = true)]
    outcome: Option<Outcome>,
}

impl Wished for Report {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let words = AttemptOutcome::ALL.map(AttemptOutcome::as_str);
        vec![Field::word("outcome", &words)]
    }
}

#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Succeeded,
    Failed,
    Abandoned,
}

/// Notes how an attempt ended; no mail counts for it any more. Saying the same
/// again changes nothing, with the same `Idempotency-Key` or without one.
///
/// Returns: 200 with the attempt; 400 for an odd body; 401 without a token; 404
/// for an attempt that is not there or not the caller's; 409 when it was finished
/// with another outcome; 422 for a key that was used for another request; 503 when the store is away.
pub(crate) async fn finish(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let report: Report = body::object(&request, payload, &feed).await?;
    let attempt = attempt_of(&path)?;
    let outcome = match report.outcome {
        Some(Outcome::Succeeded) => AttemptOutcome::Succeeded,
        Some(Outcome::Failed) => AttemptOutcome::Failed,
        Some(Outcome::Abandoned) => AttemptOutcome::Abandoned,
        None => return Err(Fields::of::<Report>(&feed).unfit("outcome")),
    };
    let tag = request::tag(&feed, RequestKind::Finish, &path, &outcome)?;
    let asked = request::named(&caller, RequestKind::Finish, key, tag);
    let attempts = &feed.deps.attempts;
    let ended = attempts.finish_attempt(attempt, &caller.scope, outcome, asked.as_ref());
    match patiently(ended).await? {
        AttemptFinished::Finished(view) => told(&feed, *view).await,
        AttemptFinished::Repeated(view) => Ok(reply::replayed(told(&feed, *view).await?)),
        AttemptFinished::KeyReused => Err(Problem::IdempotencyKeyReused),
        AttemptFinished::OtherOutcome(_) => Err(Problem::AttemptOver),
        AttemptFinished::Unknown => Err(Problem::NotFound),
    }
}

async fn told(feed: &Feed, view: AttemptView) -> Result<HttpResponse, Problem> {
    let told = Told::of(feed, view).await?;
    Ok(reply::json(StatusCode::OK, "application/json", &told))
}
