//! `POST /v1/guards`: claims an intent.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    ActionName, GuardClaimed, GuardRequest, IdempotencyKey, Intent, ProviderKey, Recipient,
    Request, RequestKind, SenderName,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::guard_body::{GuardBody, GuardClaimBody};
use super::intent_body::IntentBody;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::optional_key;
use crate::http::problem::{Problem, UsedIntent};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The longest lease, in seconds.
pub(super) const MAX_LEASE: u64 = 3600;

/// The request body.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = GuardWish)]
pub(crate) struct ClaimRequestBody {
    /// Who acts. Intents are unique for each sender, whichever API key asks.
    #[schema(required = true)]
    sender: String,
    /// What kind of action: `mail`, or another word such as `ticket`, `payment` or `post`.
    kind: String,
    /// What the action is for. Either this or `key`.
    intent: Option<IntentBody>,
    /// To whom the action is addressed; a part of the intent.
    to: Option<String>,
    /// A key that names the intent instead.
    key: Option<String>,
    /// For how many seconds the caller may act.
    lease: u64,
}

impl Default for ClaimRequestBody {
    fn default() -> Self {
        Self {
            sender: String::new(),
            kind: "mail".to_owned(),
            intent: None,
            to: None,
            key: None,
            lease: 120,
        }
    }
}

impl RequestBody for ClaimRequestBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let name = "1 to 40 characters of a-z, 0-9, `-` and `_`";
        let name_schema = json!({ "minLength": 1, "maxLength": 40, "pattern": "^[a-z0-9_-]+$" });
        vec![
            Field::new("sender", name, name_schema.clone()),
            Field::new("kind", name, name_schema),
            Field::new("intent", IntentBody::RULE, IntentBody::schema()),
            Field::address("to", "a mail address, together with `intent`"),
            Field::caller_word("key"),
            Field::number("lease", 1..=MAX_LEASE, "seconds"),
        ]
    }
}

/// Claims an intent, so that one caller acts on it.
///
/// Returns: 201 with the token, if the caller may act now, and again for the same
/// idempotency key while it may; 200 if the action is done; 400 for an invalid body; 401
/// without a valid API key; 403 without the scope; 409 `in-progress` if another caller may
/// act now; 409 `uncertain` if the last holder did not report; 409 `intent-used` if the
/// intent was abandoned; 422 if the idempotency key was used for another intent; 503 if the
/// store is unavailable: then the caller must not act.
pub(crate) async fn claim(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: ClaimRequestBody = read_body(&request, payload, &feed).await?;
    let request = guard_request(&feed, caller, &body, key)?;
    let created = |claim| reply::json(StatusCode::CREATED, &GuardClaimBody::new(claim));
    match ask_store(feed.deps.guards.claim_guard(request)).await? {
        GuardClaimed::Yours(claim) => Ok(created(claim)),
        GuardClaimed::Again(claim) => Ok(reply::replayed(created(claim))),
        GuardClaimed::InProgress(view, wait) => Err(Problem::InProgress(
            UsedIntent::from(&view),
            wait.as_secs().max(1),
        )),
        GuardClaimed::Uncertain(view) => Err(Problem::Uncertain(UsedIntent::from(&view))),
        GuardClaimed::Closed(view) => Err(Problem::IntentUsed(UsedIntent::from(&view))),
        GuardClaimed::AlreadyDone(view, is_repeated) => {
            let done = reply::json(StatusCode::OK, &GuardBody::new(view));
            Ok(if is_repeated {
                reply::replayed(done)
            } else {
                done
            })
        }
        GuardClaimed::KeyReused => Err(Problem::IdempotencyKeyReused),
    }
}

/// Checks the body and builds the request.
fn guard_request(
    feed: &Feed,
    caller: Caller,
    body: &ClaimRequestBody,
    key: Option<IdempotencyKey>,
) -> Result<GuardRequest, Problem> {
    let fields = Fields::of::<ClaimRequestBody>(feed);
    let invalid = |name| move |_| Fields::of::<ClaimRequestBody>(feed).invalid(name);
    let sender: SenderName = body
        .sender
        .parse()
        .map_err(|_invalid| fields.invalid("sender"))?;
    let action: ActionName = body
        .kind
        .parse()
        .map_err(|_invalid| fields.invalid("kind"))?;
    fields.check("lease", body.lease)?;
    let to: Option<Recipient> = match body.to.as_deref() {
        Some(to) => Some(to.parse().map_err(|_invalid| fields.invalid("to"))?),
        None => None,
    };
    let intent = match (&body.intent, &body.key) {
        (Some(intent), None) => intent.intent(to).map_err(invalid("intent"))?,
        (None, Some(_)) if to.is_some() => return Err(fields.invalid("to")),
        (None, Some(key)) => Intent::from_key(key).map_err(invalid("key"))?,
        _ => return Err(fields.invalid("intent")),
    };
    let server = &feed.deps.cursor_key;
    let provider_key = ProviderKey::derive(server, &action, &sender, &intent);
    // The intent is the request. The lease is no part of it: a caller that asks again may have
    // less time left.
    let asked = key.map(|key| Request {
        consumer: caller.consumer.clone(),
        kind: RequestKind::Guard,
        tag: server.tag(&[
            b"guard request",
            caller.consumer.as_str().as_bytes(),
            key.as_str().as_bytes(),
            provider_key.as_bytes(),
        ]),
        key,
    });
    Ok(GuardRequest {
        sender,
        action,
        key: provider_key,
        label: intent.label().cloned(),
        lease: Duration::from_secs(body.lease),
        by: caller.consumer,
        asked,
    })
}
