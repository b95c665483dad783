//! `/v1/keys`: creates, lists and revokes API keys. It needs the scope `operator`, and
//! a caller with that scope may create a key with any scope.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{ConsumerId, Created, KeyLog, KeyView, Permission, RequestKind, Timestamp};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::auth::{Caller, KeyOrder, KeyOrderError, MAX_INBOXES, MAX_LIFETIME, MAX_NAME_LENGTH};
use crate::http::body::read_body;
use crate::http::field::{Field, RequestBody, text_list};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::{InvalidBody, Problem};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The request body.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyWish)]
pub(crate) struct KeyRequestBody {
    /// The consumer that the key stands for. It owns what it opens.
    #[serde(default)]
    #[schema(required = true)]
    name: String,
    /// What it may do: `attempt`, `feed`, `consume`, `operator`, `send`, `guard`. Empty
    /// means the first three.
    #[serde(default)]
    scopes: Vec<String>,
    /// The inboxes it may see besides its own; `["*"]` for all.
    #[serde(default)]
    inboxes: Vec<String>,
    /// For how many seconds it is valid. Without it the key does not expire.
    #[serde(default)]
    expires_in: Option<u64>,
}

impl RequestBody for KeyRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let name =
            json!({ "minLength": 1, "maxLength": MAX_NAME_LENGTH, "pattern": "^[A-Za-z0-9._-]+$" });
        let words = Permission::ALL.map(Permission::as_str);
        let scopes = json!({ "maxItems": words.len(), "uniqueItems": true,
            "items": { "type": "string", "enum": words } });
        let lifetimes = 1..=MAX_LIFETIME.as_secs();
        let field =
            |error: KeyOrderError, schema| Field::new(field_of(error), error.to_string(), schema);
        vec![
            field(KeyOrderError::Name, name),
            field(KeyOrderError::Scope, scopes),
            field(KeyOrderError::Inbox, text_list(MAX_INBOXES, 318)),
            Field::number(field_of(KeyOrderError::Expiry), lifetimes, "seconds"),
        ]
    }
}

/// The field that an error is about.
fn field_of(error: KeyOrderError) -> &'static str {
    match error {
        KeyOrderError::Name => "name",
        KeyOrderError::Scope => "scopes",
        KeyOrderError::Inbox => "inboxes",
        KeyOrderError::Expiry => "expires_in",
    }
}

/// A key as the operator sees it, without its token.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyBody {
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

/// A new key with its token, which is shown only once.
#[derive(Serialize, ToSchema)]
#[schema(as = NewKey)]
pub(crate) struct NewKeyBody {
    #[serde(flatten)]
    key: KeyBody,
    token: String,
}

/// All keys.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyPage)]
pub(crate) struct KeyPageBody {
    items: Vec<KeyBody>,
}

impl KeyBody {
    fn new(view: KeyView) -> Self {
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

/// Creates a key and returns its token, once.
///
/// Returns: 201 with the key; 400 for an invalid body; 409 if the name has a key; 422 if
/// the idempotency key was used for another request. A retry after a lost response gets
/// 409, because the server keeps only the hash of a token: revoke the key and create
/// another.
pub(crate) async fn create(
    request: HttpRequest,
    operator: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: KeyRequestBody = read_body(&request, payload, &feed).await?;
    let tag = request_tag(&feed, RequestKind::Key, "", &body)?;
    let order = KeyOrder {
        name: body.name,
        scopes: body.scopes,
        inboxes: body.inboxes,
        expires_in: body.expires_in.map(Duration::from_secs),
    };
    let (token, mut new_key) = order.mint().map_err(|error| {
        let name = field_of(error);
        Problem::InvalidBody(InvalidBody::field(name, error.to_string()))
    })?;
    new_key.asked = keyed_request(&operator, RequestKind::Key, key, tag);
    if feed.deps.keys.is_configured(&new_key.name) {
        return Err(Problem::KeyTaken);
    }
    let key = match ask_store(log(&feed)?.create_key(new_key)).await? {
        Created::New(view) => KeyBody::new(view),
        Created::Known(_) | Created::Refused => return Err(Problem::KeyTaken),
        Created::KeyReused => return Err(Problem::IdempotencyKeyReused),
    };
    let token = token.expose_secret().to_owned();
    let body = NewKeyBody { key, token };
    Ok(reply::json(StatusCode::CREATED, &body))
}

/// Lists every key of the database, including revoked and expired ones.
pub(crate) async fn list(
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let keys = ask_store(log(&feed)?.keys()).await?;
    let items = keys.into_iter().map(KeyBody::new).collect();
    Ok(reply::json(StatusCode::OK, &KeyPageBody { items }))
}

/// Revokes the key with a name; every process refuses it within 2 s. 404 if there is no
/// such key.
pub(crate) async fn revoke(
    path: web::Path<String>,
    _operator: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let name: ConsumerId = path.parse().map_err(|_invalid| Problem::NotFound)?;
    let revoked = ask_store(log(&feed)?.revoke_key(&name)).await?;
    let body = KeyBody::new(revoked.ok_or(Problem::NotFound)?);
    Ok(reply::json(StatusCode::OK, &body))
}

fn log(feed: &Feed) -> Result<&Arc<dyn KeyLog>, Problem> {
    feed.deps.keys.log().ok_or(Problem::NotFound)
}
