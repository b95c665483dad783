//! `/v1/inboxes`: addresses of one's own.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    Created, IdempotencyKey, InboxId, InboxRules, InboxView, NewInbox, RequestKind, Scope,
    Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::address;
use crate::auth::Caller;
use crate::body;
use crate::consume::Nothing;
use crate::field::{Field, Fields, Wished};
use crate::list::parameters_of;
use crate::patience::patiently;
use crate::policy::{Require, senders};
use crate::problem::Problem;
use crate::reply;
use crate::request::{self, optional_key};
use crate::routes::Feed;
use crate::{Policy, Settings};

/// How long the notes on an inbox may be, as JSON.
const LONGEST_METADATA: usize = 2048;
/// A hundred years stand for ever.
const LONGEST_SPAN: u64 = 100 * 365 * 24 * 60 * 60;
/// How an inbox can stand.
const OPEN: &str = "open";
const EXPIRED: &str = "expired";
pub(crate) const STATES: [&str; 2] = [OPEN, EXPIRED];

/// What is asked for. Everything has a default: a fresh address with the
/// operator's rules, for good.
#[derive(Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = InboxWish)]
pub(crate) struct Wish {
    /// The address; only keys that see every inbox may choose one.
    address: Option<String>,
    /// Domains that a sender may have, they or one below.
    from: Vec<String>,
    /// `verified`: mail is kept back unless its sender is proven.
    require: Option<Require>,
    /// Where a link may lead.
    links: Option<Vec<String>>,
    /// For how many seconds a code may be consumed.
    code_lifetime: Option<u64>,
    /// For how many seconds its items are kept.
    retention: Option<u64>,
    /// For how many seconds it takes mail.
    expires_in: Option<u64>,
    /// The caller's own notes.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

impl Wished for Wish {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let address = "an address; only a key that sees every inbox may choose one";
        let metadata = format!("an object of at most {LONGEST_METADATA} bytes as JSON");
        let span = |name| Field::number(name, 1..=LONGEST_SPAN, "seconds");
        vec![
            Field::address("address", address),
            Field::senders(),
            Field::require(),
            Field::links(),
            span("code_lifetime"),
            span("retention"),
            span("expires_in"),
            Field::new("metadata", metadata, json!({})),
        ]
    }
}

/// One inbox, as its owner sees it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Inbox)]
pub(crate) struct Shown {
    #[schema(value_type = String)]
    address: InboxId,
    from: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require: Option<Require>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_lifetime: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    #[schema(value_type = String)]
    state: &'static str,
}

impl Shown {
    fn of(view: InboxView) -> Self {
        Self {
            address: view.inbox,
            from: view.rules.senders,
            require: view.rules.needs_proof.then_some(Require::Verified),
            links: view.rules.links,
            code_lifetime: view.rules.lifetime.map(|span| span.as_secs()),
            retention: view.retention.map(|span| span.as_secs()),
            metadata: view
                .metadata
                .and_then(|text| serde_json::from_str(&text).ok()),
            created_at: view.created_at,
            expires_at: view.expires_at,
            state: if view.is_expired { EXPIRED } else { OPEN },
        }
    }
}

/// Makes an inbox, or finds the one that the same key has made.
///
/// Returns: 201 with the inbox; 400 for a body that cannot be granted; 401
/// without a key; 409 when the address is taken; 422 when the `Idempotency-Key` has
/// made another one; 503 when the store is away.
pub(crate) async fn create(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let wish: Wish = body::object(&request, payload, &feed).await?;
    let inbox = inbox(&feed, caller, wish, key)?;
    match patiently(feed.deps.inboxes.create_inbox(inbox)).await? {
        Created::New(view) => Ok(shown(StatusCode::CREATED, view)),
        Created::Known(view) => Ok(reply::replayed(shown(StatusCode::CREATED, view))),
        Created::Refused => Err(Problem::InboxTaken),
        Created::KeyReused => Err(Problem::IdempotencyKeyReused),
    }
}

/// Shows an inbox. 404 for one that is not there or not the caller's.
pub(crate) async fn show(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    let view = patiently(feed.deps.inboxes.inbox(&inbox, &caller.scope)).await?;
    Ok(shown(StatusCode::OK, view.ok_or(Problem::NotFound)?))
}

/// Ends an inbox: from now on it takes no mail.
pub(crate) async fn expire(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    let view = patiently(feed.deps.inboxes.expire_inbox(&inbox, &caller.scope)).await?;
    Ok(shown(StatusCode::OK, view.ok_or(Problem::NotFound)?))
}

/// Gives an inbox a fresh address with the same rules; the old one ends.
pub(crate) async fn rotate(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let Nothing {} = body::object(&request, payload, &feed).await?;
    let (inbox, to) = (inbox_of(&path)?, address::fresh(&feed)?);
    let tag = request::tag(&feed, RequestKind::Rotate, inbox.as_str(), &())?;
    let asked = request::named(&caller, RequestKind::Rotate, key, tag);
    let inboxes = &feed.deps.inboxes;
    let rotated = inboxes.rotate_inbox(&inbox, &to, &caller.scope, asked.as_ref());
    match patiently(rotated).await? {
        Created::New(view) => Ok(shown(StatusCode::OK, view)),
        Created::Known(view) => Ok(reply::replayed(shown(StatusCode::OK, view))),
        Created::Refused => Err(Problem::NotFound),
        Created::KeyReused => Err(Problem::IdempotencyKeyReused),
    }
}

/// The parameters of the list; any other is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    after: Option<String>,
    limit: Option<u32>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = InboxPage)]
pub(crate) struct Page {
    items: Vec<Shown>,
}

/// Lists the caller's inboxes in order of their addresses, behind `after`.
pub(crate) async fn list(
    request: HttpRequest,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let parameters: Parameters = parameters_of(&request)?;
    let most = feed.deps.settings.page_limit;
    let limit = parameters.limit.unwrap_or(most);
    let after = parameters.after.map(|address| address.parse());
    let after: Option<InboxId> = after.transpose().map_err(|_unfit| Problem::InvalidCursor)?;
    if !(1..=most).contains(&limit) {
        return Err(Problem::InvalidParameter);
    }
    let listed = feed
        .deps
        .inboxes
        .inboxes(&caller.scope, after.as_ref(), limit);
    let items = patiently(listed)
        .await?
        .into_iter()
        .map(Shown::of)
        .collect();
    Ok(reply::json(
        StatusCode::OK,
        "application/json",
        &Page { items },
    ))
}

fn inbox_of(path: &str) -> Result<InboxId, Problem> {
    path.parse().map_err(|_unfit| Problem::NotFound)
}

fn shown(status: StatusCode, view: InboxView) -> HttpResponse {
    reply::json(status, "application/json", &Shown::of(view))
}

/// The inbox that a wish stands for, if it can be granted.
fn inbox(
    feed: &Feed,
    caller: Caller,
    wish: Wish,
    key: Option<IdempotencyKey>,
) -> Result<NewInbox, Problem> {
    let tag = request::tag(feed, RequestKind::Inbox, "", &wish)?;
    let asked = request::named(&caller, RequestKind::Inbox, key, tag);
    let (fields, policy) = (Fields::of::<Wish>(feed), &feed.deps.policy);
    let senders = senders(&wish.from);
    let senders = senders.ok_or_else(|| fields.unfit("from"))?;
    let links = wish.links.as_deref().map(|links| policy.links(links));
    let links = links.map(|links| links.ok_or_else(|| fields.unfit("links")));
    let links = links.transpose()?;
    for (name, span) in [
        ("code_lifetime", wish.code_lifetime),
        ("retention", wish.retention),
        ("expires_in", wish.expires_in),
    ] {
        span.map_or(Ok(()), |span| fields.check(name, span))?;
    }
    let metadata = wish.metadata.map(|notes| Value::Object(notes).to_string());
    if metadata
        .as_ref()
        .is_some_and(|text| text.len() > LONGEST_METADATA)
    {
        return Err(fields.unfit("metadata"));
    }
    let address = match wish.address {
        None => address::fresh(feed)?,
        Some(address) => {
            let address = address.parse().ok().filter(|_| caller.scope == Scope::All);
            address.ok_or_else(|| fields.unfit("address"))?
        }
    };
    Ok(NewInbox {
        inbox: address,
        owner: caller.consumer,
        asked,
        rules: InboxRules {
            senders,
            needs_proof: wish.require.is_some(),
            links,
            lifetime: wish.code_lifetime.map(Duration::from_secs),
        },
        metadata,
        expires_in: wish.expires_in.map(Duration::from_secs),
        retention: wish.retention.map(Duration::from_secs),
    })
}
