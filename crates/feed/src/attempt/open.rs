//! `POST /v1/attempts`: before the mail is triggered.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    AttemptId, AttemptRules, IdempotencyKey, InboxId, NewAttempt, Opened, RequestKind, Wanted,
    is_token_name,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::told::Told;
use crate::address;
use crate::auth::Caller;
use crate::body;
use crate::field::{Field, Fields, Wished};
use crate::patience::patiently;
use crate::policy::{Require, senders};
use crate::problem::Problem;
use crate::reply;
use crate::request::{self, optional_key};
use crate::routes::Feed;
use crate::{Policy, Settings};

/// How often a sender may be asked for another mail at most.
const MOST_RESENDS: u64 = 10;

/// What is asked for. Everything has a default: a code at a fresh address,
/// within ten minutes.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = AttemptWish)]
pub(crate) struct Wish {
    /// What to wait for: `code`, `link` or `either`.
    kind: Kind,
    /// Domains that the sender may have, they or one below.
    from: Vec<String>,
    /// `verified`: mail counts only if its sender is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    require: Option<Require>,
    /// Where a link may lead: `example.com` or `*.example.com`.
    links: Option<Vec<String>>,
    /// The field of the link that is handed out in place of the link.
    token: Option<String>,
    /// For how many seconds to wait.
    deadline: u64,
    /// How often the sender may be asked for another mail.
    resends: u32,
    /// The inbox to wait on; a fresh address when left out.
    inbox: Option<String>,
    /// The caller's own word; the same word means the same attempt.
    reference: Option<String>,
    /// The configured callback that gets the value in the caller's place.
    callback: Option<String>,
}

impl Wished for Wish {
    fn fields(_: &Settings, policy: &Policy) -> Vec<Field> {
        let longest = policy.longest_attempt.as_secs();
        let token = "1 to 64 letters, digits, `.`, `_` or `-`, and kind is link";
        let token_schema =
            json!({ "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$" });
        let callback = "the name of a callback that the operator has configured";
        vec![
            Field::word("kind", &Wanted::ALL.map(Wanted::as_str)),
            Field::senders(),
            Field::require(),
            Field::links(),
            Field::new("token", token, token_schema),
            Field::number("deadline", 1..=longest, "seconds"),
            Field::number("resends", 0..=MOST_RESENDS, ""),
            Field::address("inbox", "the address of an inbox"),
            Field::caller_word("reference"),
            Field::new("callback", callback, json!({})),
        ]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Code,
    Link,
    Either,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            kind: Kind::Code,
            from: Vec::new(),
            require: None,
            links: None,
            token: None,
            deadline: 600,
            resends: 1,
            inbox: None,
            reference: None,
            callback: None,
        }
    }
}

/// Opens an attempt, or finds the one with the same reference or key.
///
/// Returns: 201 with the attempt and the address to use; 200 when the reference
/// or the key was known; 400 for a body that cannot be granted; 401 without a key; 404 for
/// an inbox that is not there or not the caller's; 422 for a reference or a
/// key that was used for another request; 503 when the store is away.
pub(crate) async fn open(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let wish: Wish = body::object(&request, payload, &feed).await?;
    let attempt = attempt(&feed, caller, wish, key)?;
    let told = async |status, view| {
        let told = Told::of(&feed, view).await?;
        Ok(reply::json(status, "application/json", &told))
    };
    match patiently(feed.deps.attempts.open_attempt(attempt)).await? {
        Opened::New(view) => told(StatusCode::CREATED, view).await,
        Opened::Known(view) => Ok(reply::replayed(told(StatusCode::OK, view).await?)),
        Opened::ReferenceReused => Err(Problem::ReferenceReused),
        Opened::KeyReused => Err(Problem::IdempotencyKeyReused),
        Opened::InboxUnknown => Err(Problem::NotFound),
    }
}

/// The attempt that a wish stands for, if it can be granted.
fn attempt(
    feed: &Feed,
    caller: Caller,
    wish: Wish,
    key: Option<IdempotencyKey>,
) -> Result<NewAttempt, Problem> {
    let fields = Fields::of::<Wish>(feed);
    let request = request::tag(feed, RequestKind::Attempt, "", &wish)?;
    let reference = wish.reference.as_deref().map(str::parse).transpose();
    let reference = reference.map_err(|_unfit| fields.unfit("reference"))?;
    let timeout = Duration::from_secs(wish.deadline);
    let policy = &feed.deps.policy;
    let is_callback = |name: &String| policy.callbacks.contains(name);
    fields.check("deadline", wish.deadline)?;
    fields.check("resends", wish.resends.into())?;
    if !wish.callback.as_ref().is_none_or(is_callback) {
        return Err(fields.unfit("callback"));
    }
    let inbox: Option<InboxId> = match &wish.inbox {
        Some(address) => Some(address.parse().map_err(|_unfit| fields.unfit("inbox"))?),
        None => None,
    };
    Ok(NewAttempt {
        id: AttemptId::new(),
        asked: request::named(&caller, RequestKind::Attempt, key, request),
        owner: caller.consumer,
        scope: caller.scope,
        reference,
        request,
        is_minted: inbox.is_none(),
        inbox: inbox.map_or_else(|| address::fresh(feed), Ok)?,
        callback: wish.callback.clone(),
        resends: wish.resends,
        rules: rules(feed, &fields, wish)?,
        timeout,
    })
}

fn rules(feed: &Feed, fields: &Fields, wish: Wish) -> Result<AttemptRules, Problem> {
    let wanted = match wish.kind {
        Kind::Code => Wanted::Code,
        Kind::Link => Wanted::Link,
        Kind::Either => Wanted::Either,
    };
    let policy = &feed.deps.policy;
    let senders = senders(&wish.from);
    let senders = senders.ok_or_else(|| fields.unfit("from"))?;
    let links = wish.links.as_deref().map(|links| policy.links(links));
    let links = links.map(|links| links.ok_or_else(|| fields.unfit("links")));
    let links = links.transpose()?;
    let fits = wish.token.as_deref().is_none_or(is_token_name)
        && (wish.token.is_none() || wanted == Wanted::Link);
    fits.then_some(AttemptRules {
        wanted,
        senders,
        needs_proof: wish.require.is_some(),
        links,
        token: wish.token,
    })
    .ok_or_else(|| fields.unfit("token"))
}
