//! `/v1/keys`: keys made and revoked over HTTP, by whoever has the scope
//! `operator`. It gives what it takes: who may make keys may make any.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ConsumerId, Created, KeyLog, KeyView, Permission, RequestKind, Timestamp};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::body;
use crate::field::{Field, Wished, texts};
use crate::patience::patiently;
use crate::problem::{Problem, Unfit};
use crate::reply;
use crate::request::{self, optional_key};
use crate::routes::Feed;
use crate::token::{LONGEST_LIFE, LONGEST_NAME, MOST_INBOXES};
use crate::{KeyOrder, KeyOrderError, Policy, Settings};

/// The key that is asked for.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyWish)]
pub(crate) struct Wish {
    /// The consumer that it speaks for; what it opens is its own.
    #[serde(default)]
    #[schema(required = true)]
    name: String,
    /// What it may do: `attempt`, `feed`, `consume`, `operator`; all but the last
    /// if nothing is said.
    #[serde(default)]
    scopes: Vec<String>,
    /// Inboxes that it may see besides its own; `["*"]` for all.
    #[serde(default)]
    inboxes: Vec<String>,
    /// For how many seconds it is good; without end if nothing is said.
    #[serde(default)]
    expires_in: Option<u64>,
}

impl Wished for Wish {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let name =
            json!({ "minLength": 1, "maxLength": LONGEST_NAME, "pattern": "^[A-Za-z0-9._-]+$" });
        let words = Permission::ALL.map(Permission::as_str);
        let scopes = json!({ "maxItems": words.len(), "uniqueItems": true,
            "items": { "type": "string", "enum": words } });
        let spans = 1..=LONGEST_LIFE.as_secs();
        let told =
            |unfit: KeyOrderError, schema| Field::new(field_of(unfit), unfit.to_string(), schema);
        vec![
            told(KeyOrderError::Name, name),
            told(KeyOrderError::Scope, scopes),
            told(KeyOrderError::Inbox, texts(MOST_INBOXES, 318)),
            Field::number(field_of(KeyOrderError::Expiry), spans, "seconds"),
        ]
    }
}

/// Which field a refusal is about.
fn field_of(unfit: KeyOrderError) -> &'static str {
    match unfit {
        KeyOrderError::Name => "name",
        KeyOrderError::Scope => "scopes",
        KeyOrderError::Inbox => "inboxes",
        KeyOrderError::Expiry => "expires_in",
    }
}

/// A key as the operator sees it; never its token.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct Shown {
    id: String,
    #[schema(value_type = String)]
    name: String,
    #[schema(value_type = Vec<String>)]
    scopes: Vec<Permission>,
    inboxes: Vec<String>,
    #[schema(value_type = String)]
    state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    used_at: Option<Timestamp>,
}

/// A key that was just made, with its token: it is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = NewKey)]
pub(crate) struct Fresh {
    #[serde(flatten)]
    key: Shown,
    token: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = KeyPage)]
pub(crate) struct Page {
    items: Vec<Shown>,
}

impl Shown {
    fn of(view: KeyView) -> Self {
        Self {
            state: view.state(),
            id: view.id,
            name: view.name.as_str().to_owned(),
            scopes: view.permissions,
            inboxes: view.inboxes,
            created_at: view.created_at,
            expires_at: view.expires_at,
            revoked_at: view.revoked_at,
            used_at: view.used_at,
        }
    }
}

/// Makes a key and shows its token, once.
///
/// Returns: 201 with the key; 400 for a body that cannot be granted; 409 when the
/// name has a key; 422 for an `Idempotency-Key` that has made another. A retry whose
/// first answer was lost gets 409, for only the hash of a token is kept: revoke the
/// key and make another.
pub(crate) async fn create(
    request: HttpRequest,
    operator: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let wish: Wish = body::object(&request, payload, &feed).await?;
    let tag = request::tag(&feed, RequestKind::Key, "", &wish)?;
    let order = KeyOrder {
        name: wish.name,
        scopes: wish.scopes,
        inboxes: wish.inboxes,
        expires_in: wish.expires_in.map(Duration::from_secs),
    };
    let (token, mut minted) = order.mint().map_err(|unfit| {
        let name = field_of(unfit);
        Problem::InvalidBody(Unfit::field(name, unfit.to_string()))
    })?;
    minted.asked = request::named(&operator, RequestKind::Key, key, tag);
    if feed.deps.keys.is_configured(&minted.name) {
        return Err(Problem::KeyTaken);
    }
    let key = match patiently(log(&feed)?.create_key(minted)).await? {
        Created::New(view) => Shown::of(view),
        Created::Known(_) | Created::Refused => return Err(Problem::KeyTaken),
        Created::KeyReused => return Err(Problem::IdempotencyKeyReused),
    };
    let token = token.expose_secret().to_owned();
    let fresh = Fresh { key, token };
    Ok(reply::json(StatusCode::CREATED, "application/json", &fresh))
}

/// Lists every key of the database, also those that are over.
pub(crate) async fn list(
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let keys = patiently(log(&feed)?.keys()).await?;
    let items = keys.into_iter().map(Shown::of).collect();
    let page = Page { items };
    Ok(reply::json(StatusCode::OK, "application/json", &page))
}

/// Revokes the key of a name; every process refuses it within 2 s. 404 when there
/// is none to revoke.
pub(crate) async fn revoke(
    path: web::Path<String>,
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let name: ConsumerId = path.parse().map_err(|_unfit| Problem::NotFound)?;
    let revoked = patiently(log(&feed)?.revoke_key(&name)).await?;
    let revoked = Shown::of(revoked.ok_or(Problem::NotFound)?);
    Ok(reply::json(StatusCode::OK, "application/json", &revoked))
}

fn log(feed: &Feed) -> Result<&Arc<dyn KeyLog>, Problem> {
    feed.deps.keys.log().ok_or(Problem::NotFound)
}
