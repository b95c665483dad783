//! `GET /v1/attempts/{attempt}`: the state of an attempt.

use std::cell::OnceCell;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::AttemptView;
use serde::Deserialize;

use super::attempt_body::AttemptBody;
use super::attempt_of;
use super::wait::{has_value, wait_until};
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::WaitTime;
use crate::state::Feed;

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    wait: Option<u64>,
}

/// Returns the state of an attempt and waits for a change if asked. It never returns
/// the value.
///
/// Returns: 200 with the state, also if nothing changed during the wait; 400 for an
/// invalid parameter; 401 without a valid key; 404 for an attempt that does not exist
/// for the caller; 429 if the key has too many waits open; 503 if the store is
/// unavailable.
pub(crate) async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let attempt = attempt_of(&path)?;
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.wait_limit;
    let wait = WaitTime::requested(parameters.wait, request.headers(), max)?;
    // A change is a difference from the status that the first read returned.
    let first = OnceCell::new();
    let has_changed = |view: &AttemptView| {
        let status = view.status();
        has_value(view) || *first.get_or_init(|| status.clone()) != status
    };
    let view = wait_until(&feed, &caller, attempt, wait.timeout, has_changed).await?;
    let body = AttemptBody::new(&feed, view).await?;
    Ok(wait.report(reply::json(StatusCode::OK, &body)))
}
