//! `POST /v1/sends`: sends one mail, once for its intent.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{InvalidValue, RequestKind, SendOrder, SendOrdered, SendRecorded, SendView};

use super::order_body::SendRequestBody;
use super::send_body::SendBody;
use super::show::settled_if_possible;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::Fields;
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::{InvalidBody, Problem, UsedIntent};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::state::Feed;

/// What the store did with an order.
pub(super) enum Outcome {
    /// It is recorded.
    New(SendView),
    /// It was recorded before, by the same request or with the same intent and content.
    Known(SendView),
}

/// Asks for a mail.
///
/// Returns: 201 with the send, `ready` or `held`, or its state after the wait; 200 if the
/// same intent with the same content was asked for before; 400 for an invalid body, an
/// unknown sender or template; 401 without a valid key; 403 without the scope, or for a
/// recipient that is not allowed; 409 `intent-used` if the intent was used with other
/// content; 422 if the idempotency key was used for another request; 429 `send-cap` at a
/// cap, or 429 at a rate limit: this request recorded nothing; 503 if the store is
/// unavailable: then nothing was sent, or the same request finds it.
pub(crate) async fn order(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: SendRequestBody = read_body(&request, payload, &feed).await?;
    let tag = request_tag(&feed, RequestKind::Send, "", &body)?;
    let asked = keyed_request(&caller, RequestKind::Send, key, tag);
    let wait = Duration::from_secs(body.wait);
    let fields = Fields::of::<SendRequestBody>(&feed);
    let order = body.into_order(&fields, &caller, asked)?;
    let (status, view) = match place(&feed, order).await? {
        Outcome::New(view) => (StatusCode::CREATED, view),
        Outcome::Known(view) => (StatusCode::OK, view),
    };
    let view = settled_if_possible(&feed, &caller, view, wait).await?;
    let response = reply::json(status, &SendBody::new(view));
    Ok(match status {
        StatusCode::OK => reply::replayed(response),
        _ => response,
    })
}

/// Has an order rendered and recorded.
pub(super) async fn place(feed: &Feed, order: SendOrder) -> Result<Outcome, Problem> {
    let invalid = |name| Fields::of::<SendRequestBody>(feed).invalid(name);
    let Some(desk) = &feed.deps.desk else {
        return Err(invalid("sender"));
    };
    let recorded = match ask_store(desk.order(order)).await? {
        SendOrdered::Recorded(recorded) => recorded,
        SendOrdered::UnknownSender => return Err(invalid("sender")),
        SendOrdered::UnknownTemplate => return Err(invalid("template")),
        SendOrdered::RecipientNotAllowed => return Err(Problem::RecipientNotAllowed),
        SendOrdered::InvalidValue(value) => return Err(invalid_value(value)),
    };
    match recorded {
        SendRecorded::New(view) => Ok(Outcome::New(view)),
        SendRecorded::Again(view) | SendRecorded::Duplicate(view) => Ok(Outcome::Known(view)),
        SendRecorded::IntentUsed(view) => Err(Problem::IntentUsed(UsedIntent::from(&view))),
        SendRecorded::KeyReused => Err(Problem::IdempotencyKeyReused),
        SendRecorded::Capped(what, left) => Err(Problem::SendCap(what, left.as_secs().max(1))),
    }
}

/// A value that the template cannot use.
pub(super) fn invalid_value(value: InvalidValue) -> Problem {
    let rule = match value.field {
        Some(field) => format!("{field}: {}", value.rule),
        None => value.rule.to_owned(),
    };
    Problem::InvalidBody(InvalidBody::field("values", rule))
}
