//! The desk: the feed hands over what an agent wants to send, and never sees the mail.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{ConsumerId, MessageId, ReplyRecorded, ReplyRefusal, Request, Scope, StoreError};

use super::action::SenderName;
use super::intent::{IntentLabel, Recipient};
use super::log::SendRecorded;

/// A mail that an agent wants to send, not rendered yet.
#[derive(Debug, Clone)]
pub struct SendOrder {
    /// The configured sender.
    pub sender: SenderName,
    /// What the mail is for. With `to` it is the intent.
    pub label: IntentLabel,
    /// To whom it shall be sent.
    pub to: Recipient,
    /// The configured template.
    pub template: String,
    /// The values for the template.
    pub values: BTreeMap<String, TemplateValue>,
    /// The API key that asks.
    pub by: ConsumerId,
    /// The request, if it has an idempotency key.
    pub asked: Option<Request>,
}

/// An answer to a message that an agent wants to send. To whom, with which subject and with
/// which ids is not its choice.
#[derive(Debug, Clone)]
pub struct ReplyOrder {
    /// The message.
    pub message: MessageId,
    /// The inboxes whose messages the agent may answer.
    pub scope: Scope,
    /// The configured sender; `None` for the one of the inbox's address, or the only one.
    pub sender: Option<SenderName>,
    /// The configured template.
    pub template: String,
    /// The values for the template.
    pub values: BTreeMap<String, TemplateValue>,
    /// The API key that asks.
    pub by: ConsumerId,
    /// The request, if it has an idempotency key.
    pub asked: Option<Request>,
}

/// The outcome of a [`ReplyOrder`].
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each request, and it is moved once"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyOrdered {
    /// The order is valid; this is what the store did.
    Recorded(ReplyRecorded),
    /// There is no such message, or not in the scope.
    UnknownMessage,
    /// The message is not answered, for this reason.
    Refused(ReplyRefusal),
    /// There is no such sender, or several that could answer.
    UnknownSender,
    /// The sender has no such template.
    UnknownTemplate,
    /// A value is missing, unknown or does not have the form that the template requires.
    InvalidValue(InvalidValue),
}

/// A value for a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// Text. The template says which form it must have.
    Text(String),
    /// A whole number.
    Number(i64),
}

/// The outcome of a [`SendOrder`].
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each request, and it is moved once"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOrdered {
    /// The order is valid; this is what the store did.
    Recorded(SendRecorded),
    /// There is no such sender.
    UnknownSender,
    /// The sender has no such template.
    UnknownTemplate,
    /// The operator does not allow mail to this recipient.
    RecipientNotAllowed,
    /// A value is missing, unknown or does not have the form that the template requires.
    InvalidValue(InvalidValue),
}

/// A value that a template cannot use. The name is one of the template's own fields; it is
/// `None` for a value that the template does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    /// The field of the template.
    pub field: Option<String>,
    /// The rule that it breaks, as a fixed text.
    pub rule: &'static str,
}

/// A configured sender, as an agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderOffer {
    /// Its name.
    pub name: SenderName,
    /// The templates that it may use.
    pub templates: Vec<TemplateOffer>,
}

/// A template, as an agent sees it: what it is called and which values it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateOffer {
    /// Its name.
    pub name: String,
    /// Whether an operator must approve each mail of this sender and template.
    pub needs_approval: bool,
    /// Its values; each of them is required.
    pub values: Vec<ValueOffer>,
}

/// A value of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueOffer {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub kind: &'static str,
    /// What a `choice` may be.
    pub choices: Vec<String>,
}

/// Checks and renders sends and records them. The feed depends on this trait alone, so a
/// rendered mail cannot reach an agent.
#[async_trait]
pub trait SendDesk: Send + Sync {
    /// Checks, renders and records an order.
    async fn order(&self, order: SendOrder) -> Result<SendOrdered, StoreError>;

    /// Checks, renders and records an answer to a message. A message that has an answer
    /// keeps it, whatever is ordered.
    async fn reply(&self, order: ReplyOrder) -> Result<ReplyOrdered, StoreError>;

    /// The senders and templates that an order may name.
    fn offers(&self) -> Vec<SenderOffer>;
}
