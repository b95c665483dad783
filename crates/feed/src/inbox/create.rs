//! `POST /v1/inboxes`: creates an inbox.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{Created, IdempotencyKey, InboxRules, NewInbox, RequestKind, Scope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::address::new_address;
use super::inbox_body::respond;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::{Policy, Require, senders};
use crate::settings::Settings;
use crate::state::Feed;

/// The longest metadata of an inbox, in bytes of JSON.
const MAX_METADATA: usize = 2048;
/// A hundred years.
const MAX_SECONDS: u64 = 100 * 365 * 24 * 60 * 60;

/// The request body. Everything has a default: a new address with the operator's
/// rules that does not expire.
#[derive(Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = InboxWish)]
pub(crate) struct InboxRequestBody {
    /// The address. Only a key that sees every inbox may choose one.
    address: Option<String>,
    /// Domains that a sender may have, including their subdomains.
    from: Vec<String>,
    /// `verified` withholds mail unless its sender is proven.
    require: Option<Require>,
    /// Hosts that a link may lead to.
    links: Option<Vec<String>>,
    /// For how many seconds a code can be consumed.
    code_lifetime: Option<u64>,
    /// For how many seconds items are kept.
    retention: Option<u64>,
    /// For how many seconds the inbox accepts mail.
    expires_in: Option<u64>,
    /// Any JSON object of the caller's.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

impl RequestBody for InboxRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let address = "an address; only a key that sees every inbox may choose one";
        let metadata = format!("an object of at most {MAX_METADATA} bytes as JSON");
        let seconds = |name| Field::number(name, 1..=MAX_SECONDS, "seconds");
        vec![
            Field::address("address", address),
            Field::senders(),
            Field::require(),
            Field::links(),
            seconds("code_lifetime"),
            seconds("retention"),
            seconds("expires_in"),
            Field::new("metadata", metadata, json!({})),
        ]
    }
}

/// Creates an inbox, or returns the one that the same idempotency key created.
///
/// Returns: 201 with the inbox; 400 for an invalid body; 401 without a valid key; 409 if
/// the address is in use, or without one, if mail to a new address would not arrive; 422 if the idempotency key was used for another request; 503
/// if the store is unavailable.
pub(crate) async fn create(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: InboxRequestBody = read_body(&request, payload, &feed).await?;
    let scope = caller.scope.clone();
    let inbox = new_inbox(&feed, caller, body, key)?;
    match ask_store(feed.deps.inboxes.create_inbox(inbox)).await? {
        Created::New(view) => Ok(respond(StatusCode::CREATED, view, &scope)),
        Created::Known(view) => Ok(reply::replayed(respond(StatusCode::CREATED, view, &scope))),
        Created::Refused => Err(Problem::InboxTaken),
        Created::KeyReused => Err(Problem::IdempotencyKeyReused),
    }
}

/// Checks the body and builds the inbox.
fn new_inbox(
    feed: &Feed,
    caller: Caller,
    body: InboxRequestBody,
    key: Option<IdempotencyKey>,
) -> Result<NewInbox, Problem> {
    let tag = request_tag(feed, RequestKind::Inbox, "", &body)?;
    let asked = keyed_request(&caller, RequestKind::Inbox, key, tag);
    let (fields, policy) = (Fields::of::<InboxRequestBody>(feed), &feed.deps.policy);
    let senders = senders(&body.from);
    let senders = senders.ok_or_else(|| fields.invalid("from"))?;
    let links = body.links.as_deref().map(|links| policy.links(links));
    let links = links.map(|links| links.ok_or_else(|| fields.invalid("links")));
    let links = links.transpose()?;
    for (name, seconds) in [
        ("code_lifetime", body.code_lifetime),
        ("retention", body.retention),
        ("expires_in", body.expires_in),
    ] {
        seconds.map_or(Ok(()), |seconds| fields.check(name, seconds))?;
    }
    let metadata = body
        .metadata
        .map(|object| Value::Object(object).to_string());
    if metadata
        .as_ref()
        .is_some_and(|text| text.len() > MAX_METADATA)
    {
        return Err(fields.invalid("metadata"));
    }
    let address = match body.address {
        None => new_address(feed)?,
        Some(address) => {
            let address = address.parse().ok().filter(|_| caller.scope == Scope::All);
            address.ok_or_else(|| fields.invalid("address"))?
        }
    };
    Ok(NewInbox {
        inbox: address,
        owner: caller.consumer,
        asked,
        rules: InboxRules {
            senders,
            needs_proof: body.require.is_some(),
            links,
            lifetime: body.code_lifetime.map(Duration::from_secs),
        },
        metadata,
        expires_in: body.expires_in.map(Duration::from_secs),
        retention: body.retention.map(Duration::from_secs),
    })
}
