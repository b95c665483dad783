//! `AgentMail`: Standard Webhooks with Svix's header names.
//!
//! Request: `{"event_type":"message.received","message":{"inbox_id", "from", "to",
//! "subject", "message_id", "text"?, "html"?, …}}`. The id of the inbox is its address,
//! which is the recipient. A message is rebuilt from the fields. Above 1 MB the post has no
//! text; then `GET /v0/inboxes/{inbox}/messages/{id}/raw` answers with a link to the
//! original, `download_url`, at another host of `AgentMail`. The link expires and is then
//! requested again. Without an `api_key` the delivery is dead-lettered as
//! `message_not_included`. Mail that `AgentMail` takes for spam or blocks comes as
//! `message.received.spam` or `.blocked` and is read, too: verification mails are often taken
//! for spam. It has the flag `provider_spam` or `provider_blocked`. The sender of
//! `.unauthenticated` mail counts as refuted. The labels of a message say the same; a message
//! that was polled has only them.
//!
//! Received: `message.created_at`, which is when `AgentMail` made the message.
//! `message.timestamp` comes from the sender and is not used.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | Svix delivers its webhooks; Svix's and Resend's documents on retries |
//! | 401 | not proven or stale | retries for 27 hours; disables the webhook after five days | Svix delivers its webhooks; Svix's and Resend's documents on retries |
//! | 413 | too large | retries for 27 hours; disables the webhook after five days | Svix delivers its webhooks; Svix's and Resend's documents on retries |
//! | 503 | not stored | retries for 27 hours; disables the webhook after five days | Svix delivers its webhooks; Svix's and Resend's documents on retries |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add agentmail` prints.

use pipeline::Timestamp;
use serde_json::Value;

use super::standard_webhooks;
use crate::contract::answers::Answers;
use crate::contract::polling::{InboxSetting, PollClient, Polling};
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::PASTE_SECRET;
use crate::contract::{Contract, Handshake, Posts};
use crate::payload::json::Object;
use crate::payload::mail::{BLOCKED, InboundMail, SPAM, SenderVerdict};
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::remote_mail::{Holds, RemoteMail};
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::Coverage;

pub(crate) const CONTRACT: Contract = Contract {
    name: "agentmail",
    source_name: "agentmail",
    posts: Posts::Fields,
    polling: Some(Polling {
        client: PollClient::AgentMail,
        inboxes: InboxSetting::Accounts,
    }),
    asks: &[PASTE_SECRET],
    answers: Answers::PLAIN,
    setup: &[
        "In AgentMail, Webhooks, add the source's URL for the event `message.received`.",
        "Copy the signing secret (`whsec_…`) into the source's `secrets`.",
        "For mails above 1 MB, create an API key and copy it into `api_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: Some("https://api.agentmail.to"),
    takes: standard_webhooks::TAKES_WITH_API,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    let kind = json::text(&event, &["event_type"]).ok_or(DecodeError::Malformed)?;
    let class = match kind.strip_prefix("message.received") {
        Some("") => "",
        Some(".spam") => "spam",
        Some(".blocked") => "blocked",
        Some(".unauthenticated") => "unauthenticated",
        _ => return Ok(Decoded::other_event()),
    };
    let message = event
        .get("message")
        .and_then(Value::as_object)
        .ok_or(DecodeError::Malformed)?;
    let labels = json::list(message, &["labels"]);
    let is = |word: &str| class == word || labels.iter().any(|label| label == word);
    let sender = is("unauthenticated").then_some(SenderVerdict::Refuted);
    let flags = [("spam", SPAM), ("blocked", BLOCKED)];
    let flags = flags.into_iter().filter(|(word, _)| is(word));
    let flags = flags.map(|(_, flag)| flag).collect();
    let field = |name: &str| json::text(message, &[name]);
    if field("text").is_none() && field("html").is_none() {
        return remote_mail(message, sender, flags);
    }
    let to = json::texts(message, &["to"])?.join(", ");
    let rebuilt = RebuiltMessage {
        headers: [
            ("From", field("from").or_else(|| field("from_"))),
            ("To", Some(to.as_str()).filter(|to| !to.is_empty())),
            ("Subject", field("subject")),
            ("Message-ID", field("message_id")),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        text: field("text").map(Body::utf8),
        html: field("html").map(Body::utf8),
    };
    let inbox = field("inbox_id").ok_or(DecodeError::NoRecipient)?;
    let mail = InboundMail::rebuilt(vec![inbox.to_owned()], &rebuilt)?;
    let mail = mail.received(received_at(message)).sender(sender);
    Ok(Decoded::mail(mail.flagged(flags)))
}

fn received_at(message: &Object) -> Option<Timestamp> {
    json::moment_at(message, &["created_at"])
}

fn remote_mail(
    message: &Object,
    sender: Option<SenderVerdict>,
    flags: Vec<&'static str>,
) -> Result<Decoded, DecodeError> {
    let inbox = json::text(message, &["inbox_id"]).ok_or(DecodeError::NoRecipient)?;
    let id = json::text(message, &["message_id"]).ok_or(DecodeError::Malformed)?;
    Ok(Decoded::RemoteMail(RemoteMail {
        recipients: vec![inbox.to_owned()],
        path: ["v0", "inboxes", inbox, "messages", id, "raw"]
            .map(str::to_owned)
            .to_vec(),
        query: None,
        provider_id: None,
        holds: Holds::Link(&["download_url"]),
        received_at: received_at(message),
        stated_from: None,
        sender,
        flags,
    }))
}

/// A sample mail as the body of a post.
fn shape(sample: &Sample<'_>) -> Shape {
    Shape::json(&serde_json::json!({
        "event_type": "message.received",
        "event_id": sample.id,
        "message": {
            "inbox_id": sample.recipient,
            "message_id": format!("<{}@sample.invalid>", sample.id),
            "created_at": sample.at.to_string(),
            "from": sample.from,
            "to": [sample.recipient],
            "subject": sample.subject,
            "text": sample.text,
        },
    }))
}
