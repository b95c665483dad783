//! `/v1/inboxes/{inbox}`: shows, ends and rotates an inbox.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{Created, InboxId, RequestKind};

use super::address::new_address;
use super::inbox_body::respond;
use crate::auth::Caller;
use crate::http::body::{EmptyBody, read_body};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// Returns an inbox; 404 for one that does not exist for the caller.
pub(crate) async fn show(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    let view = ask_store(feed.deps.inboxes.inbox(&inbox, &caller.scope)).await?;
    Ok(respond(
        StatusCode::OK,
        view.ok_or(Problem::NotFound)?,
        &caller.scope,
    ))
}

/// Ends an inbox: it accepts no more mail.
pub(crate) async fn expire(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    let view = ask_store(feed.deps.inboxes.expire_inbox(&inbox, &caller.scope)).await?;
    Ok(respond(
        StatusCode::OK,
        view.ok_or(Problem::NotFound)?,
        &caller.scope,
    ))
}

/// Creates an inbox with a new address and the same rules, and ends the old one.
pub(crate) async fn rotate(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let EmptyBody {} = read_body(&request, payload, &feed).await?;
    let (inbox, to) = (inbox_of(&path)?, new_address(&feed)?);
    let tag = request_tag(&feed, RequestKind::Rotate, inbox.as_str(), &())?;
    let request = keyed_request(&caller, RequestKind::Rotate, key, tag);
    let inboxes = &feed.deps.inboxes;
    let rotated = inboxes.rotate_inbox(&inbox, &to, &caller.scope, request.as_ref());
    match ask_store(rotated).await? {
        Created::New(view) => Ok(respond(StatusCode::OK, view, &caller.scope)),
        Created::Known(view) => Ok(reply::replayed(respond(
            StatusCode::OK,
            view,
            &caller.scope,
        ))),
        Created::Refused => Err(Problem::NotFound),
        Created::KeyReused => Err(Problem::IdempotencyKeyReused),
    }
}

/// The inbox that a path names. A malformed address is answered like an unknown one.
fn inbox_of(path: &str) -> Result<InboxId, Problem> {
    path.parse().map_err(|_invalid| Problem::NotFound)
}
