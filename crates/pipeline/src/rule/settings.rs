//! A rule as it is written, in the configuration and in the API.

use crate::InboxId;

use super::{InboundRule, RuleAction, RuleCondition};

/// A rule as it is written and not yet checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// Its name, by which what it did is explained.
    pub name: String,
    /// The address of the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The domain of the sender, with its subdomains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the sender is proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
    /// The address that the mail was sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<String>,
    /// Whether a machine sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automated: Option<bool>,
    /// Whether a mailing list sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<bool>,
    /// Whether it is a copy of a mail that was sent here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_echo: Option<bool>,
    /// What it does: `drop`, `route`, `label` or `no_reply`.
    pub action: String,
    /// The inbox that mail is routed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The label that mail gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A rule cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Its name.
    #[error("the name of a rule is 1 to 40 characters of a-z, 0-9 and `_`")]
    Name,
    /// It would apply to every mail.
    #[error(
        "a rule needs a condition: sender, domain, proven, recipient, automated, list or own_echo"
    )]
    NoCondition,
    /// The sender.
    #[error("`sender` must be a mail address such as user@example.com")]
    Sender,
    /// The domain.
    #[error("`domain` must be a domain such as example.com")]
    Domain,
    /// The recipient.
    #[error("`recipient` must be the address of an inbox")]
    Recipient,
    /// The action.
    #[error("`action` must be drop, route, label or no_reply")]
    Action,
    /// The target of a route.
    #[error("`to` must be the address of an inbox, and only a route has it")]
    To,
    /// The label.
    #[error("`label` must be 1 to 40 characters of a-z, 0-9 and `_`, and only a label has it")]
    Label,
}

impl TryFrom<RuleSettings> for InboundRule {
    type Error = RuleError;

    fn try_from(rule: RuleSettings) -> Result<Self, RuleError> {
        if !is_word(&rule.name) {
            return Err(RuleError::Name);
        }
        let action = action(&rule)?;
        let sender = rule.sender.map(|text| text.parse::<InboxId>());
        let sender = sender.transpose().or(Err(RuleError::Sender))?;
        let domain = rule.domain.map(|text| domain(&text));
        let recipient = rule.recipient.map(|text| text.parse::<InboxId>());
        let condition = RuleCondition {
            sender: sender.map(|sender| sender.as_str().to_owned()),
            domain: domain.transpose()?,
            proven: rule.proven,
            recipient: recipient.transpose().or(Err(RuleError::Recipient))?,
            automated: rule.automated,
            list: rule.list,
            own_echo: rule.own_echo,
        };
        if condition == RuleCondition::default() {
            return Err(RuleError::NoCondition);
        }
        Ok(Self {
            name: rule.name,
            condition,
            action,
        })
    }
}

impl From<InboundRule> for RuleSettings {
    fn from(rule: InboundRule) -> Self {
        let (to, label) = match &rule.action {
            RuleAction::Route(inbox) => (Some(inbox.to_string()), None),
            RuleAction::Label(label) => (None, Some(label.clone())),
            RuleAction::Drop | RuleAction::NoReply => (None, None),
        };
        let condition = rule.condition;
        Self {
            name: rule.name,
            sender: condition.sender,
            domain: condition.domain,
            proven: condition.proven,
            recipient: condition.recipient.map(|inbox| inbox.to_string()),
            automated: condition.automated,
            list: condition.list,
            own_echo: condition.own_echo,
            action: rule.action.word().to_owned(),
            to,
            label,
        }
    }
}

fn action(rule: &RuleSettings) -> Result<RuleAction, RuleError> {
    let to = rule.to.as_deref().map(str::parse::<InboxId>);
    let to = to.transpose().or(Err(RuleError::To))?;
    if to.is_some() != (rule.action == "route") {
        return Err(RuleError::To);
    }
    let label = rule.label.clone();
    if label.is_some() != (rule.action == "label") {
        return Err(RuleError::Label);
    }
    match (rule.action.as_str(), to, label) {
        ("drop", ..) => Ok(RuleAction::Drop),
        ("no_reply", ..) => Ok(RuleAction::NoReply),
        ("route", Some(inbox), _) => Ok(RuleAction::Route(inbox)),
        ("label", _, Some(label)) if is_word(&label) => Ok(RuleAction::Label(label)),
        ("label", ..) => Err(RuleError::Label),
        _ => Err(RuleError::Action),
    }
}

/// A domain in the form that senders have.
fn domain(text: &str) -> Result<String, RuleError> {
    let address: Result<InboxId, _> = format!("any@{text}").parse();
    let address = address.or(Err(RuleError::Domain))?;
    Ok(address.domain().to_owned())
}

/// Whether a text can be a part of a [`crate::Reason`].
fn is_word(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
