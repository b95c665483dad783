//! `GET /v1/sends`: the sends and guards in a state, for the operator.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::SendState;
use serde::Deserialize;

use super::send_body::{SendBody, SendPageBody};
use super::send_of;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::parameters_of;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// The query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    state: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
}

/// Lists sends and guards in a state, newest first; `uncertain` ones if none is named.
/// `before` is the id of the last one of the page before.
///
/// Returns: 200 with a page; 400 for an invalid parameter; 401 without a valid key; 403
/// without the scope.
pub(crate) async fn list(
    request: HttpRequest,
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let max = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(max);
    let state = match parameters.state.as_deref() {
        Some(word) => SendState::from_word(word).ok_or(Problem::InvalidParameter)?,
        None => SendState::Uncertain,
    };
    let before = parameters.before.as_deref().map(send_of).transpose();
    let before = before.map_err(|_invalid| Problem::InvalidParameter)?;
    if !(1..=max).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let sends = ask_store(feed.deps.sends.sends(state, before, limit)).await?;
    let items = sends.into_iter().map(SendBody::new).collect();
    Ok(reply::json(StatusCode::OK, &SendPageBody { items }))
}
