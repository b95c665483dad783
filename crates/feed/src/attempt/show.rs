//! `GET /v1/attempts/{attempt}`: how it stands.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;

use super::attempt_of;
use super::told::Told;
use super::wait;
use crate::auth::Caller;
use crate::list::parameters_of;
use crate::patience::{PREFERENCE_APPLIED, Patience};
use crate::problem::Problem;
use crate::reply;
use crate::routes::Feed;

/// The parameters; any other is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    wait: Option<u64>,
}

/// Says how an attempt stands, and waits for a change if asked. Nothing is
/// disclosed.
///
/// Returns: 200 with the state, also when the wait has passed without a change;
/// 400 for an odd parameter; 401 without a key; 404 for an attempt that is not
/// there or not the caller's; 429 when the key has too many waits open; 503 when
/// the store is away.
pub(crate) async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let attempt = attempt_of(&path)?;
    let parameters: Parameters = parameters_of(&request)?;
    let most = feed.deps.settings.wait_limit;
    let patience = Patience::of(parameters.wait, request.headers(), most)?;
    // What a client knows already is no news to it.
    let seen = std::cell::OnceCell::new();
    let enough = |view: &pipeline::AttemptView| {
        let status = view.status();
        wait::is_ready(view) || *seen.get_or_init(|| status.clone()) != status
    };
    let view = wait::until(&feed, &caller, attempt, patience.span, enough).await?;
    let told = Told::of(&feed, view).await?;
    let mut response = reply::json(StatusCode::OK, "application/json", &told);
    if let Some(applied) = patience.applied {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}
