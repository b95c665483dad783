//! `AgentMail`: Standard Webhooks under Svix's header names.
//!
//! Request: `{"event_type":"message.received","message":{"inbox_id", "from", "to",
//! "subject", "message_id", "text"?, "html"?, …}}`. The inbox's id is its address
//! and stands for the envelope's recipient. The original is at `AgentMail`'s API;
//! what the webhook carries is put together again. Above 1 MB it carries no text,
//! and `GET /v0/inboxes/{inbox}/messages/{id}/raw` answers with a link to the
//! original, `download_url`, at another host of `AgentMail`'s domain; it expires, and
//! is asked for anew then. Without an `api_key` it is kept and buried as `message_not_included`.
//!
//! Received: `message.created_at`, which is when `AgentMail` made the message out of what
//! it received. `message.timestamp` is when the sender says it was sent, and is not
//! believed.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large, which a
//! post of 1 MB is not; 503 not stored. `AgentMail` tries again on every status but
//! 2xx, for 27 hours, and switches the webhook off after five days of failures.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add agentmail` prints.

use pipeline::Timestamp;
use serde_json::Value;

use super::{Contract, Handshake, standard_webhooks};
use crate::json::{self, Object};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::{Answers, Coverage, DecodeError, Decoded, Holds, InboundMail, RemoteMail, Sample};

pub(crate) const CONTRACT: Contract = Contract {
    name: "agentmail",
    answers: Answers::PLAIN,
    setup: &[
        "In AgentMail, Webhooks, add the source's URL for the event `message.received`.",
        "Copy the signing secret (`whsec_…`) into the source's `secrets`.",
        "For mails above 1 MB, create an API key and copy it into `api_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: Some("https://api.agentmail.to"),
    knobs: standard_webhooks::KNOBS_WITH_API,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["event_type"]) {
        Some("message.received") => {}
        Some(_) => return Ok(Decoded::other_event()),
        None => return Err(DecodeError::Malformed),
    }
    let message = event
        .get("message")
        .and_then(Value::as_object)
        .ok_or(DecodeError::Malformed)?;
    let field = |name: &str| json::text(message, &[name]);
    if field("text").is_none() && field("html").is_none() {
        return remote_mail(message);
    }
    let to = json::texts(message, &["to"])?.join(", ");
    let letter = Letter {
        headers: [
            ("From", field("from").or_else(|| field("from_"))),
            ("To", Some(to.as_str()).filter(|to| !to.is_empty())),
            ("Subject", field("subject")),
            ("Message-ID", field("message_id")),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        text: field("text"),
        html: field("html"),
    };
    let inbox = field("inbox_id").ok_or(DecodeError::NoRecipient)?;
    let mail = InboundMail::rebuilt(vec![inbox.to_owned()], &letter)?;
    Ok(Decoded::mail(mail.received(received_at(message))))
}

fn received_at(message: &Object) -> Option<Timestamp> {
    json::moment_at(message, &["created_at"])
}

fn remote_mail(message: &Object) -> Result<Decoded, DecodeError> {
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
        sender: None,
    }))
}

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
