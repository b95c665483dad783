//! Resend: Standard Webhooks under Svix's header names.
//!
//! Request: `{"type":"email.received","data":{"email_id", "received_for":[…], …}}`,
//! which tells of a mail and does not carry it: `GET /emails/receiving/{id}` of
//! Resend's API answers with a link to the message, `raw.download_url`, at another
//! host of Resend's domain; it expires, and is asked for anew then. Without an `api_key` such a delivery is kept and buried as `message_not_included`,
//! from where it can be put back.
//!
//! Received: `data.created_at`, which is the mail's; else `created_at`, which is the
//! event's. Both stay the same when it is tried again.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large; 503 not
//! stored. Resend tries again on every status but 2xx, for 27 hours.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add resend` prints.

use super::{Contract, Handshake, standard_webhooks};
use crate::json::{self, Object};
use crate::sample::Shape;
use crate::{Answers, Coverage, DecodeError, Decoded, Holds, RemoteMail, Sample};

pub(crate) const CONTRACT: Contract = Contract {
    name: "resend",
    answers: Answers::PLAIN,
    setup: &[
        "In Resend, Webhooks, add the source's URL for the event `email.received`.",
        "Copy the signing secret (`whsec_…`) into the source's `secrets`.",
        "Create an API key that may read received mail and copy it into `api_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: Some("https://api.resend.com"),
    knobs: standard_webhooks::KNOBS_WITH_API,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["type"]) {
        Some("email.received") => remote_mail(&event),
        Some(_) => Ok(Decoded::other_event()),
        None => Err(DecodeError::Malformed),
    }
}

fn remote_mail(event: &Object) -> Result<Decoded, DecodeError> {
    let id = json::text(event, &["data", "email_id"]).ok_or(DecodeError::Malformed)?;
    let recipients = json::texts(event, &["data", "received_for"])?;
    if recipients.is_empty() {
        return Err(DecodeError::NoRecipient);
    }
    Ok(Decoded::RemoteMail(RemoteMail {
        recipients,
        path: ["emails", "receiving", id].map(str::to_owned).to_vec(),
        query: None,
        provider_id: None,
        holds: Holds::Link(&["raw", "download_url"]),
        received_at: json::moment_at(event, &["data", "created_at"])
            .or_else(|| json::moment_at(event, &["created_at"])),
        sender: None,
    }))
}

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
