//! `/v1/inboxes/{inbox}/rules`: what happens to the mail of an inbox.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use pipeline::{InboundRule, InboxId, RuleSettings};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::auth::Caller;
use crate::http::body::read_body;
use crate::http::field::{Field, RequestBody};
use crate::http::problem::{InvalidBody, Problem};
use crate::http::reply;
use crate::http::timeout::ask_store;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::state::Feed;

/// The most rules of one inbox.
const MAX_RULES: usize = 50;

/// The rules of an inbox, in order.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = InboundRules)]
pub(crate) struct RulesBody {
    /// All of them: they replace those of before.
    #[schema(required = true)]
    rules: Vec<RuleBody>,
}

/// One rule: all of its conditions must hold, and it has at least one.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = InboundRule)]
pub(crate) struct RuleBody {
    /// Its name, of a-z, 0-9 and _.
    #[schema(required = true)]
    name: String,
    /// The address of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    /// The domain of the sender, with its subdomains.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    /// Whether the sender is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    proven: Option<bool>,
    /// The address that the mail was sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient: Option<String>,
    /// Whether a machine sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    automated: Option<bool>,
    /// Whether a mailing list sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<bool>,
    /// Whether it is a copy of our own mail, which can only get labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_echo: Option<bool>,
    /// `drop`, `route`, `label` or `no_reply`.
    #[schema(required = true)]
    action: String,
    /// For `route`: an inbox of the same owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// For `label`: the item has the flag `label.` and this word.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl RequestBody for RulesBody {
    fn fields(_: &Settings, _: &Policy) -> Vec<Field> {
        let rule = "at most 50 rules, each with a name, a condition and an action";
        vec![Field::new("rules", rule, json!({ "maxItems": MAX_RULES }))]
    }
}

impl RuleBody {
    fn checked(self) -> Result<InboundRule, pipeline::RuleError> {
        let settings = RuleSettings {
            name: self.name,
            sender: self.sender,
            domain: self.domain,
            proven: self.proven,
            recipient: self.recipient,
            automated: self.automated,
            list: self.list,
            own_echo: self.own_echo,
            action: self.action,
            to: self.to,
            label: self.label,
        };
        settings.try_into()
    }
}

impl From<InboundRule> for RuleBody {
    fn from(rule: InboundRule) -> Self {
        let rule = RuleSettings::from(rule);
        Self {
            name: rule.name,
            sender: rule.sender,
            domain: rule.domain,
            proven: rule.proven,
            recipient: rule.recipient,
            automated: rule.automated,
            list: rule.list,
            own_echo: rule.own_echo,
            action: rule.action,
            to: rule.to,
            label: rule.label,
        }
    }
}

/// Returns the rules of an inbox; 404 for one that does not exist for the caller.
pub(crate) async fn show_rules(
    path: web::Path<String>,
    caller: Caller,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let inbox: InboxId = path.parse().map_err(|_invalid| Problem::NotFound)?;
    let rules = ask_store(feed.deps.inboxes.inbound_rules(&inbox, &caller.scope)).await?;
    Ok(respond(rules.ok_or(Problem::NotFound)?))
}

/// Replaces the rules of an inbox.
///
/// Returns: 200 with the rules; 400 for an invalid rule, which is named; 401 without a
/// valid key; 403 without the scope; 404 if the caller does not own the inbox, or an inbox
/// that a rule routes to; 503 if the store is unavailable.
pub(crate) async fn set_rules(
    request: HttpRequest,
    path: web::Path<String>,
    caller: Caller,
    payload: web::Payload,
    feed: web::Data<Feed>,
) -> Result<HttpResponse, Problem> {
    let body: RulesBody = read_body(&request, payload, &feed).await?;
    let inbox: InboxId = path.parse().map_err(|_invalid| Problem::NotFound)?;
    let invalid = |rule: String| Problem::InvalidBody(InvalidBody::field("rules", rule));
    if body.rules.len() > MAX_RULES {
        return Err(invalid("at most 50 rules".to_owned()));
    }
    let mut rules = Vec::with_capacity(body.rules.len());
    for (number, rule) in body.rules.into_iter().enumerate() {
        let checked = rule.checked();
        rules.push(checked.map_err(|error| invalid(format!("rule {}: {error}", number + 1)))?);
    }
    let set = feed
        .deps
        .inboxes
        .set_inbound_rules(&inbox, &caller.scope, rules.clone());
    if !ask_store(set).await? {
        return Err(Problem::NotFound);
    }
    Ok(respond(rules))
}

fn respond(rules: Vec<InboundRule>) -> HttpResponse {
    let rules = rules.into_iter().map(RuleBody::from).collect();
    reply::json(StatusCode::OK, &RulesBody { rules })
}
