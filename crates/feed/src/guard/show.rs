//! `GET /v1/guards/{guard}`: the state of a guard.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};

use super::guard_body::GuardBody;
use super::guard_of;
use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// Returns the state of a guard, without its token.
///
/// Returns: 200 with the guard; 401 without a valid key; 403 without the scope; 404 for an
/// unknown guard; 503 if the store is unavailable.
pub(crate) async fn show(
    path: web::Path<String>,
    _caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let guard = ask_store(feed.deps.guards.guard(guard_of(&path)?)).await?;
    let body = GuardBody::new(guard.ok_or(Problem::NotFound)?);
    Ok(reply::json(StatusCode::OK, &body))
}
