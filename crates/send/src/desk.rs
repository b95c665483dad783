//! The desk: checks what an agent asks for, renders the mail once, and records it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ActionName, CanonicalObject, CapKind, Clock, Intent, InvalidValue, NewSend, ProviderKey,
    SendCap, SendDesk, SendId, SendLog, SendOrder, SendOrdered, SendRecorded, ServerKey,
    StoreError,
};

use crate::mail::Mail;
use crate::meters::{Meters, OfSender};
use crate::sender::Sender;
use crate::senders::{Senders, needs_approval};
use crate::template::{Content, ValuesError};

const DAY: Duration = Duration::from_hours(24);
const HOUR: Duration = Duration::from_hours(1);

/// Accepts orders of agents.
pub struct Desk {
    /// The senders and templates.
    pub senders: Arc<Senders>,
    /// Where sends are recorded.
    pub log: Arc<dyn SendLog>,
    /// What keys are derived from.
    pub server_key: ServerKey,
    /// The time that a mail states.
    pub clock: Arc<dyn Clock>,
    /// The metrics.
    pub meters: Meters,
}

#[async_trait]
impl SendDesk for Desk {
    async fn order(&self, order: SendOrder) -> Result<SendOrdered, StoreError> {
        let send = match self.render(order) {
            Ok(send) => send,
            Err(refused) => return Ok(*refused),
        };
        let sender = send.sender.clone();
        let recorded = self.log.record_send(send).await?;
        let label = OfSender {
            sender: sender.to_string(),
            outcome: word(&recorded),
        };
        self.meters.asked.get_or_create(&label).inc();
        Ok(SendOrdered::Recorded(recorded))
    }
}

impl Desk {
    /// Checks and renders an order.
    fn render(&self, order: SendOrder) -> Result<NewSend, Box<SendOrdered>> {
        let sender = self.senders.sender(&order.sender);
        let sender = sender.ok_or(SendOrdered::UnknownSender)?;
        let template = self.senders.template(sender, &order.template);
        let template = template.ok_or(SendOrdered::UnknownTemplate)?;
        if !sender.recipients.allow(&order.to) {
            return Err(SendOrdered::RecipientNotAllowed.into());
        }
        let content = template.fill(&order.values, &sender.links);
        let content = content.map_err(|error| SendOrdered::InvalidValue(invalid(error)))?;
        let unfit = |rule| SendOrdered::InvalidValue(InvalidValue { field: None, rule });
        let intent = Intent::new(order.label.clone(), Some(order.to.clone()));
        let intent = intent.or(Err(unfit("is not a valid intent")))?;
        let mail = ActionName::mail();
        let key = ProviderKey::derive(&self.server_key, &mail, &sender.name, &intent);
        let fingerprint = fingerprint(sender, &order, &content);
        let mail = Mail {
            from: sender.from.clone(),
            to: order.to.clone(),
            subject: content.subject,
            text: content.text,
            html: content.html,
            answers: None,
            key,
            date: self.clock.now(),
        };
        let payload = sender.transport.prepare(&mail).payload();
        let hold = needs_approval(sender, template).then_some(self.senders.settings().hold);
        Ok(NewSend {
            id: SendId::new(),
            sender: sender.name.clone(),
            provider: sender.transport.provider().to_owned(),
            key,
            label: order.label.clone(),
            fingerprint,
            to: order.to.clone(),
            payload: payload.ok_or(unfit("cannot be sent"))?,
            message_id: mail.message_id(),
            hold,
            caps: self.caps(sender, &order),
            by: order.by,
            asked: order.asked,
        })
    }

    /// How many mails are allowed.
    fn caps(&self, sender: &Sender, order: &SendOrder) -> Vec<SendCap> {
        let tag = |fields: &[&[u8]]| self.server_key.tag(fields);
        let to = order.to.as_str().as_bytes();
        let name = sender.name.as_str().as_bytes();
        let by = order.by.as_str().as_bytes();
        let recipient = sender.per_recipient_day.map(|most| SendCap {
            what: CapKind::Recipient,
            subject: tag(&[b"send-cap-recipient", name, to]),
            window: DAY,
            most,
        });
        let key = sender.per_key_hour.map(|most| SendCap {
            what: CapKind::Key,
            subject: tag(&[b"send-cap-key", name, by]),
            window: HOUR,
            most,
        });
        let all = SendCap {
            what: CapKind::Installation,
            subject: tag(&[b"send-cap-installation"]),
            window: DAY,
            most: self.senders.settings().per_day,
        };
        recipient.into_iter().chain(key).chain([all]).collect()
    }
}

/// The word of an outcome, for metrics.
fn word(recorded: &SendRecorded) -> &'static str {
    match recorded {
        SendRecorded::New(_) => "new",
        SendRecorded::Again(_) => "same_request",
        SendRecorded::Duplicate(_) => "same_intent",
        SendRecorded::IntentUsed(_) => "other_content",
        SendRecorded::KeyReused => "key_reused",
        SendRecorded::Capped(..) => "capped",
    }
}

/// What two mails with the same intent are compared by: everything that the recipient
/// reads, and nothing that changes from one rendering to the next, such as the date.
fn fingerprint(sender: &Sender, order: &SendOrder, content: &Content) -> [u8; 32] {
    let envelope = CanonicalObject::new()
        .text("from", &sender.from.plain())
        .text("to", order.to.as_str())
        .text("subject", &content.subject)
        .text("text", &content.text);
    match &content.html {
        Some(html) => envelope.text("html", html).digest(),
        None => envelope.digest(),
    }
}

fn invalid(error: ValuesError) -> InvalidValue {
    let (field, rule) = match error {
        ValuesError::Missing(name) => (Some(name), "is required"),
        ValuesError::Undeclared => (None, "is not a value of the template"),
        ValuesError::Unfit(name, kind) => (Some(name), rule_of(kind)),
        ValuesError::ForeignLink => (None, "must not link to a foreign host"),
        ValuesError::TooLong => (None, "makes the mail too long"),
    };
    InvalidValue { field, rule }
}

/// The rule that a value of a type must follow.
fn rule_of(kind: &'static str) -> &'static str {
    match kind {
        "id" => "must be letters, digits, `-` and `_`, and not too long",
        "word" => "must be one word of letters, and not too long",
        "integer" => "must be a whole number",
        "decimal" => "must be a number with at most one dot",
        "date" => "must be a day such as 2026-01-31",
        "choice" => "must be one of the template's choices",
        "link" => "must be an https link to a host of the sender",
        _ => "must be text without control characters, and not too long",
    }
}
