//! `POST /v1/attempts`: opens an attempt before the mail is triggered.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{
    AttemptId, AttemptRules, CodeForm, IdempotencyKey, InboxId, NewAttempt, Opened, RequestKind,
    Wanted, is_token_name,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::attempt_body::AttemptBody;
use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, Fields, RequestBody};
use crate::http::idempotency::{keyed_request, optional_key, request_tag};
use crate::http::problem::Problem;
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::inbox::new_address;
use crate::policy::{Policy, Require, senders};
use crate::settings::Settings;
use crate::state::Feed;

/// The most resends that an attempt may have.
const MAX_RESENDS: u64 = 10;
/// The shortest heartbeat, in seconds. Each one is a write.
const MIN_HEARTBEAT: u64 = 5;

/// The request body. Everything has a default: a code at a new address, within ten
/// minutes.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = AttemptWish)]
pub(crate) struct OpenRequestBody {
    /// What to wait for: `code`, `link` or `either`.
    kind: KindWanted,
    /// Domains that the sender may have, including their subdomains.
    from: Vec<String>,
    /// `verified` accepts only mail whose sender is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    require: Option<Require>,
    /// Hosts that a link may lead to: `example.com` or `*.example.com`.
    links: Option<Vec<String>>,
    /// The query parameter or fragment field of the link to return instead of the link.
    token: Option<String>,
    /// The form of the code, if it is known. Other numbers in the mail are then no rivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<Expect>,
    /// After how many seconds the attempt ends.
    deadline: u64,
    /// After how many seconds the attempt ends earlier, unless the same request is
    /// repeated. It needs a reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<u64>,
    /// How many times the agent may request another mail from the sender.
    resends: u32,
    /// The inbox to wait on. Without it the server creates a new address.
    inbox: Option<String>,
    /// Whether the newest value from before the attempt counts, too: one that belongs to no
    /// attempt, or to one of the caller's that has ended. It needs an inbox, and neither
    /// `links` nor `token` nor `expect`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    earlier: bool,
    /// An identifier that the caller chooses. The same reference returns the same
    /// attempt.
    reference: Option<String>,
    /// The configured callback that gets the value instead of the caller.
    callback: Option<String>,
}

impl RequestBody for OpenRequestBody {
    fn fields(_: &Settings, policy: &Policy) -> Vec<Field> {
        let max_deadline = policy.longest_attempt.as_secs();
        let token = "1 to 64 letters, digits, `.`, `_` or `-`, and kind is link";
        let token_schema =
            json!({ "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$" });
        let earlier = "true or false; true needs an inbox, and neither links nor token nor expect";
        let expect =
            "digits, letters or characters with a number from 3 to 32, and kind is not link";
        let callback = "the name of a callback that the operator has configured";
        vec![
            Field::word("kind", &Wanted::ALL.map(Wanted::as_str)),
            Field::senders(),
            Field::require(),
            Field::links(),
            Field::new("token", token, token_schema),
            Field::new("expect", expect, json!({})),
            Field::number("deadline", 1..=max_deadline, "seconds"),
            Field::number("heartbeat", MIN_HEARTBEAT..=max_deadline, "seconds"),
            Field::number("resends", 0..=MAX_RESENDS, ""),
            Field::address("inbox", "the address of an inbox"),
            Field::new("earlier", earlier, json!({})),
            Field::caller_word("reference"),
            Field::new("callback", callback, json!({})),
        ]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Kind)]
enum KindWanted {
    Code,
    Link,
    Either,
}

/// The form of a code: what it consists of, and how long it is. Blanks and dashes do not
/// count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Expect {
    /// This many digits.
    Digits(u8),
    /// This many letters.
    Letters(u8),
    /// This many letters and digits.
    Characters(u8),
}

impl From<Expect> for CodeForm {
    fn from(expect: Expect) -> Self {
        match expect {
            Expect::Digits(length) => Self::Digits(length),
            Expect::Letters(length) => Self::Letters(length),
            Expect::Characters(length) => Self::Characters(length),
        }
    }
}

impl Default for OpenRequestBody {
    fn default() -> Self {
        Self {
            kind: KindWanted::Code,
            from: Vec::new(),
            require: None,
            links: None,
            token: None,
            expect: None,
            deadline: 600,
            heartbeat: None,
            resends: 1,
            inbox: None,
            earlier: false,
            reference: None,
            callback: None,
        }
    }
}

/// Opens an attempt, or returns the one with the same reference or idempotency key.
///
/// Returns: 201 with the attempt and the address to use; 200 if the reference or the
/// idempotency key is known; 400 for an invalid body; 401 without a valid API key; 404
/// for an inbox that does not exist for the caller; 409 without an inbox, if mail to a new
/// address would not arrive; 422 for a reference or an
/// idempotency key that was used for another request; 503 if the store is unavailable.
pub(crate) async fn open(
    request: HttpRequest,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let key = optional_key(request.headers())?;
    let body: OpenRequestBody = read_body(&request, payload, &feed).await?;
    let attempt = new_attempt(&feed, caller, body, key)?;
    let respond = async |status, view| {
        let body = AttemptBody::new(&feed, view).await?;
        Ok(reply::json(status, &body))
    };
    match ask_store(feed.deps.attempts.open_attempt(attempt)).await? {
        Opened::New(view) => {
            feed.deps.meters.attempts("opened").inc();
            respond(StatusCode::CREATED, view).await
        }
        Opened::Known(view) => Ok(reply::replayed(respond(StatusCode::OK, view).await?)),
        Opened::ReferenceReused => Err(Problem::ReferenceReused),
        Opened::KeyReused => Err(Problem::IdempotencyKeyReused),
        Opened::InboxUnknown => Err(Problem::NotFound),
    }
}

/// Checks the body and builds the attempt.
fn new_attempt(
    feed: &Feed,
    caller: Caller,
    body: OpenRequestBody,
    key: Option<IdempotencyKey>,
) -> Result<NewAttempt, Problem> {
    let fields = Fields::of::<OpenRequestBody>(feed);
    let tag = request_tag(feed, RequestKind::Attempt, "", &body)?;
    let reference = body.reference.as_deref().map(str::parse).transpose();
    let reference = reference.map_err(|_invalid| fields.invalid("reference"))?;
    let policy = &feed.deps.policy;
    let is_callback = |name: &String| policy.callbacks.contains(name);
    fields.check("deadline", body.deadline)?;
    fields.check("resends", body.resends.into())?;
    if let Some(heartbeat) = body.heartbeat {
        fields.check("heartbeat", heartbeat)?;
        // Without one, the repeated request would open another attempt.
        if reference.is_none() {
            return Err(fields.invalid("reference"));
        }
    }
    if !body.callback.as_ref().is_none_or(is_callback) {
        return Err(fields.invalid("callback"));
    }
    // Earlier mail was judged by the rules of its inbox, and not by those of the attempt.
    let has_own_rules = body.links.is_some() || body.token.is_some() || body.expect.is_some();
    if body.earlier && (body.inbox.is_none() || has_own_rules) {
        return Err(fields.invalid("earlier"));
    }
    let inbox: Option<InboxId> = match &body.inbox {
        Some(address) => Some(
            address
                .parse()
                .map_err(|_invalid| fields.invalid("inbox"))?,
        ),
        None => None,
    };
    Ok(NewAttempt {
        id: AttemptId::new(),
        asked: keyed_request(&caller, RequestKind::Attempt, key, tag),
        owner: caller.consumer,
        scope: caller.scope,
        reference,
        request: tag,
        is_minted: inbox.is_none(),
        inbox: inbox.map_or_else(|| new_address(feed), Ok)?,
        callback: body.callback.clone(),
        resends: body.resends,
        takes_earlier: body.earlier,
        timeout: Duration::from_secs(body.deadline),
        heartbeat: body.heartbeat.map(Duration::from_secs),
        rules: rules(feed, &fields, body)?,
    })
}

fn rules(feed: &Feed, fields: &Fields, body: OpenRequestBody) -> Result<AttemptRules, Problem> {
    let wanted = match body.kind {
        KindWanted::Code => Wanted::Code,
        KindWanted::Link => Wanted::Link,
        KindWanted::Either => Wanted::Either,
    };
    let policy = &feed.deps.policy;
    let senders = senders(&body.from);
    let senders = senders.ok_or_else(|| fields.invalid("from"))?;
    let links = body.links.as_deref().map(|links| policy.links(links));
    let links = links.map(|links| links.ok_or_else(|| fields.invalid("links")));
    let links = links.transpose()?;
    let expected = body.expect.map(CodeForm::from);
    let is_form = |form: CodeForm| form.is_possible() && wanted != Wanted::Link;
    if !expected.is_none_or(is_form) {
        return Err(fields.invalid("expect"));
    }
    let fits = body.token.as_deref().is_none_or(is_token_name)
        && (body.token.is_none() || wanted == Wanted::Link);
    fits.then_some(AttemptRules {
        wanted,
        senders,
        needs_proof: body.require.is_some(),
        links,
        token: body.token,
        expected,
    })
    .ok_or_else(|| fields.invalid("token"))
}
