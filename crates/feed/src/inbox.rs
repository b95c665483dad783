//! `/v1/inboxes`: addresses of one's own.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{InboxId, InboxRules, InboxView, NewInbox, Timestamp};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::Caller;
use crate::body::{self, optional_key};
use crate::consume::Nothing;
use crate::list::parameters_of;
use crate::patience::patiently;
use crate::problem::Problem;
use crate::reply;
use crate::routes::Feed;

/// How long the notes on an inbox may be, as JSON.
const LONGEST_METADATA: usize = 2048;
/// A hundred years stand for ever.
const LONGEST_SPAN: u64 = 100 * 365 * 24 * 60 * 60;
/// Without vowels and look-alikes: an address spells nothing and is read aloud
/// without mistakes. Sixteen of 28 letters hold 76 bits, so none is guessed.
const LETTERS: &[u8; 28] = b"bcdfghjkmnpqrstvwxz23456789-";

/// What is asked for. Everything has a default: a fresh address with the
/// operator's rules, for good.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = InboxWish)]
pub(crate) struct Wish {
    /// The address; only keys that see every inbox may choose one.
    address: Option<String>,
    /// Domains that a sender may have, they or one below.
    from: Vec<String>,
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

/// One inbox, as its owner sees it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Inbox)]
pub(crate) struct Shown {
    #[schema(value_type = String)]
    address: InboxId,
    from: Vec<String>,
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
            links: view.rules.links,
            code_lifetime: view.rules.lifetime.map(|span| span.as_secs()),
            retention: view.retention.map(|span| span.as_secs()),
            metadata: view
                .metadata
                .and_then(|text| serde_json::from_str(&text).ok()),
            created_at: view.created_at,
            expires_at: view.expires_at,
            state: if view.is_expired { "expired" } else { "open" },
        }
    }
}

/// Makes an inbox.
///
/// Returns: 201 with the inbox; 400 for a body that cannot be granted; 401
/// without a key; 409 when the address is taken; 503 when the store is away.
pub(crate) async fn create(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    optional_key(request.headers())?;
    let wish: Wish = body::object(payload).await?;
    let inbox = inbox(&feed, caller, wish)?;
    let made = patiently(feed.deps.inboxes.create_inbox(inbox)).await?;
    let made = made.ok_or(Problem::InboxTaken)?;
    Ok(reply::json(
        StatusCode::CREATED,
        "application/json",
        &Shown::of(made),
    ))
}

/// Shows an inbox. 404 for one that is not there or not the caller's.
pub(crate) async fn show(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    shown(patiently(feed.deps.inboxes.inbox(&inbox, &caller.scope)).await?)
}

/// Ends an inbox: from now on it takes no mail.
pub(crate) async fn expire(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox = inbox_of(&path)?;
    shown(patiently(feed.deps.inboxes.expire_inbox(&inbox, &caller.scope)).await?)
}

/// Gives an inbox a fresh address with the same rules; the old one ends.
pub(crate) async fn rotate(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    optional_key(request.headers())?;
    let Nothing {} = body::object(payload).await?;
    let (inbox, fresh) = (inbox_of(&path)?, mint(&feed)?);
    let rotated = feed
        .deps
        .inboxes
        .rotate_inbox(&inbox, &fresh, &caller.scope);
    shown(patiently(rotated).await?)
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

/// A fresh address that nobody can guess.
pub(crate) fn mint(feed: &Feed) -> Result<InboxId, Problem> {
    let mut random = rand::rng();
    let mut letter = |among: usize| {
        let place = random.random_range(0..among);
        LETTERS.get(place).copied().map_or('x', char::from)
    };
    // The last of the letters is the hyphen, which cannot begin or end a name.
    let mut name = String::from(letter(27));
    name.extend((0..14).map(|_| letter(28)));
    name.push(letter(27));
    let address = format!("{name}@{}", feed.deps.policy.mint_domain);
    address.parse().map_err(|_unfit| Problem::Internal)
}

fn inbox_of(path: &str) -> Result<InboxId, Problem> {
    path.parse().map_err(|_unfit| Problem::NotFound)
}

fn shown(view: Option<InboxView>) -> Result<HttpResponse, Problem> {
    let view = view.ok_or(Problem::NotFound)?;
    Ok(reply::json(
        StatusCode::OK,
        "application/json",
        &Shown::of(view),
    ))
}

/// The inbox that a wish stands for, if it can be granted.
fn inbox(feed: &Feed, caller: Caller, wish: Wish) -> Result<NewInbox, Problem> {
    let metadata = wish.metadata.map(|notes| Value::Object(notes).to_string());
    let lists = feed.deps.policy.lists(&wish.from, wish.links);
    let (senders, links) = lists.ok_or(Problem::InvalidBody)?;
    let spans = [wish.code_lifetime, wish.retention, wish.expires_in];
    let fits = metadata
        .as_ref()
        .is_none_or(|text| text.len() <= LONGEST_METADATA)
        && spans
            .iter()
            .flatten()
            .all(|span| (1..=LONGEST_SPAN).contains(span))
        && (wish.address.is_none() || caller.scope == pipeline::Scope::All);
    if !fits {
        return Err(Problem::InvalidBody);
    }
    let address = match wish.address {
        Some(address) => address.parse().map_err(|_unfit| Problem::InvalidBody)?,
        None => mint(feed)?,
    };
    Ok(NewInbox {
        inbox: address,
        owner: caller.consumer,
        rules: InboxRules {
            senders,
            links,
            lifetime: wish.code_lifetime.map(Duration::from_secs),
        },
        metadata,
        expires_in: wish.expires_in.map(Duration::from_secs),
        retention: wish.retention.map(Duration::from_secs),
    })
}
