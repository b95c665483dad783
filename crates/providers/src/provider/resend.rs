//! Resend: Standard Webhooks with Svix's header names.
//!
//! Request: `{"type":"email.received","data":{"email_id", "received_for":[…], "to":[…], …}}`.
//! The recipients are `received_for`, or `to` if it is missing. The post
//! only announces a mail: `GET /emails/receiving/{id}` of Resend's API answers with a link to
//! the message, `raw.download_url`, at another host of Resend. The link expires and is then
//! requested again. If the answer has no link, the message is rebuilt from its text and
//! HTML. Without an `api_key` the delivery is dead-lettered as
//! `message_not_included`; it can be requeued when the key is set.
//!
//! Events about sent mail prove a send: `data.tags` has its provider key.
//!
//! Received: `data.created_at`, which is the mail's; else `created_at`, which is the event's.
//! Both stay the same in retries.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | Svix's and Resend's documents on retries |
//! | 401 | not proven or stale | retries for 27 hours | Svix's and Resend's documents on retries |
//! | 413 | too large | retries for 27 hours | Svix's and Resend's documents on retries |
//! | 503 | not stored | retries for 27 hours | Svix's and Resend's documents on retries |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add resend` prints.

use super::standard_webhooks;
use crate::contract::answers::Answers;
use crate::contract::polling::{PollClient, Polling};
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::PASTE_SECRET;
use crate::contract::{Contract, Handshake, Posts};
use crate::payload::json::Object;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::remote_mail::{Holds, RemoteMail};
use crate::payload::sent_event::{self, SentEvent};
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::Coverage;

pub(crate) const CONTRACT: Contract = Contract {
    name: "resend",
    source_name: "resend",
    posts: Posts::Notice,
    polling: Some(Polling::with(PollClient::Resend)),
    asks: &[PASTE_SECRET],
    answers: Answers::PLAIN,
    setup: &[
        "In Resend, Webhooks, add the source's URL for the event `email.received`, and for \
         `email.sent` if this server also sends by Resend.",
        "Copy the signing secret (`whsec_…`) into the source's `secrets`.",
        "Create an API key that may read received mail and copy it into `api_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: Some("https://api.resend.com"),
    takes: standard_webhooks::TAKES_WITH_API,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["type"]) {
        Some("email.received") => remote_mail(&event),
        Some(kind) if ACCEPTED.contains(&kind) => Ok(sent(&event)),
        Some(_) => Ok(Decoded::other_event()),
        None => Err(DecodeError::Malformed),
    }
}

/// The events about a mail that Resend has accepted.
const ACCEPTED: [&str; 7] = [
    "email.sent",
    "email.delivered",
    "email.delivery_delayed",
    "email.bounced",
    "email.complained",
    "email.opened",
    "email.clicked",
];

fn sent(event: &Object) -> Decoded {
    let tags = json::at(event, &["data", "tags"]);
    let id = json::text(event, &["data", "email_id"]);
    sent_event::decoded(SentEvent::of(tags, id))
}

fn remote_mail(event: &Object) -> Result<Decoded, DecodeError> {
    let id = json::text(event, &["data", "email_id"]).ok_or(DecodeError::Malformed)?;
    let mut recipients = json::texts(event, &["data", "received_for"])?;
    if recipients.is_empty() {
        recipients = json::texts(event, &["data", "to"])?;
    }
    if recipients.is_empty() {
        return Err(DecodeError::NoRecipient);
    }
    Ok(Decoded::RemoteMail(RemoteMail {
        recipients,
        path: ["emails", "receiving", id].map(str::to_owned).to_vec(),
        query: None,
        provider_id: None,
        holds: Holds::LinkOrFields(&["raw", "download_url"]),
        received_at: json::moment_at(event, &["data", "created_at"])
            .or_else(|| json::moment_at(event, &["created_at"])),
        stated_from: None,
        sender: None,
        flags: Vec::new(),
    }))
}

/// Rebuilds a message from the API's answer about a mail, if it has a text. The answer has
/// no link to the original (`raw` is null) for mail that Resend does not keep whole.
pub fn message_of_answer(answer: &[u8]) -> Option<Vec<u8>> {
    let answer = json::object(answer).ok()?;
    let field = |name: &str| json::text(&answer, &[name]);
    let (text, html) = (field("text"), field("html"));
    let to = json::texts(&answer, &["to"]).ok()?.join(", ");
    let headers = [
        ("From", field("from")),
        ("To", Some(to.as_str())),
        ("Subject", field("subject")),
        ("Message-ID", field("message_id")),
    ];
    let message = RebuiltMessage {
        headers: headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        text: text.map(Body::utf8),
        html: html.map(Body::utf8),
    };
    (text.is_some() || html.is_some()).then(|| message.build())
}

/// A sample mail as the body of a post.
fn shape(sample: &Sample<'_>) -> Shape {
    Shape::json(&serde_json::json!({
        "type": "email.received",
        "created_at": sample.at.to_string(),
        "data": {
            "email_id": sample.id,
            "from": sample.from,
            "to": [sample.recipient],
            "received_for": [sample.recipient],
            "subject": sample.subject,
            "attachments": [],
        },
    }))
}
