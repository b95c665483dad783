//! The desk: checks what an agent asks for, renders the mail once, and records it.

mod answer;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ActionName, CanonicalObject, CapKind, Clock, ConsumerId, Intent, IntentLabel, InvalidValue,
    NewSend, ProviderKey, Recipient, ReplyLog, ReplyOrder, ReplyOrdered, Request, SendCap,
    SendDesk, SendId, SendLog, SendOrder, SendOrdered, SendRecorded, SenderOffer, ServerKey,
    StoreError, ThreadCaps,
};

use crate::mail::{Answered, Mail};
use crate::meters::{Meters, OfSender};
use crate::sender::Sender;
use crate::senders::{Senders, needs_approval};
use crate::template::{Content, Template, ValuesError};

const DAY: Duration = Duration::from_hours(24);
const HOUR: Duration = Duration::from_hours(1);

/// Accepts orders of agents.
pub struct Desk {
    /// The senders and templates.
    pub senders: Arc<Senders>,
    /// Where sends are recorded.
    pub log: Arc<dyn SendLog>,
    /// Where replies are recorded, and what they need is kept.
    pub replies: Arc<dyn ReplyLog>,
    /// How many replies are allowed.
    pub caps: ThreadCaps,
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

    async fn reply(&self, order: ReplyOrder) -> Result<ReplyOrdered, StoreError> {
        reply::reply(self, order).await
    }

    fn offers(&self) -> Vec<SenderOffer> {
        self.senders.offers()
    }
}

/// A mail whose sender, recipient and template are checked.
pub(crate) struct Draft<'d> {
    pub(crate) sender: &'d Sender,
    pub(crate) template: &'d Template,
    /// What the template makes of the values; a reply has another subject.
    pub(crate) content: Content,
    pub(crate) label: IntentLabel,
    pub(crate) to: Recipient,
    pub(crate) answers: Option<Answered>,
    pub(crate) by: ConsumerId,
    pub(crate) asked: Option<Request>,
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
        let draft = Draft {
            sender,
            template,
            content,
            label: order.label,
            to: order.to,
            answers: None,
            by: order.by,
            asked: order.asked,
        };
        let send = self.finish(draft);
        send.map_err(|invalid| SendOrdered::InvalidValue(invalid).into())
    }

    /// Renders a mail, once for all.
    pub(crate) fn finish(&self, draft: Draft<'_>) -> Result<NewSend, InvalidValue> {
        let unfit = |rule| InvalidValue { field: None, rule };
        let sender = draft.sender;
        let intent = Intent::new(draft.label.clone(), Some(draft.to.clone()));
        let intent = intent.or(Err(unfit("is not a valid intent")))?;
        let mail = ActionName::mail();
        let key = ProviderKey::derive(&self.server_key, &mail, &sender.name, &intent);
        let fingerprint = fingerprint(&draft);
        let caps = self.caps(&draft);
        let mail = Mail {
            from: sender.from.clone(),
            to: draft.to.clone(),
            subject: draft.content.subject,
            text: draft.content.text,
            html: draft.content.html,
            answers: draft.answers,
            key,
            date: self.clock.now(),
        };
        let payload = sender.transport.prepare(&mail).payload();
        let hold = needs_approval(sender, draft.template).then_some(self.senders.settings().hold);
        Ok(NewSend {
            id: SendId::new(),
            sender: sender.name.clone(),
            provider: sender.transport.provider().to_owned(),
            key,
            label: draft.label,
            fingerprint,
            to: draft.to,
            payload: payload.ok_or(unfit("cannot be sent"))?,
            message_id: mail.message_id(),
            hold,
            caps,
            by: draft.by,
            asked: draft.asked,
        })
    }

    /// How many mails are allowed.
    fn caps(&self, draft: &Draft<'_>) -> Vec<SendCap> {
        let sender = draft.sender;
        let tag = |fields: &[&[u8]]| self.server_key.tag(fields);
        let to = draft.to.as_str().as_bytes();
        let name = sender.name.as_str().as_bytes();
        let by = draft.by.as_str().as_bytes();
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
fn fingerprint(draft: &Draft<'_>) -> [u8; 32] {
    let content = &draft.content;
    let envelope = CanonicalObject::new()
        .text("from", &draft.sender.from.plain())
        .text("to", draft.to.as_str())
        .text("subject", &content.subject)
        .text("text", &content.text);
    match &content.html {
        Some(html) => envelope.text("html", html).digest(),
        None => envelope.digest(),
    }
}

pub(crate) fn invalid(error: ValuesError) -> InvalidValue {
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
