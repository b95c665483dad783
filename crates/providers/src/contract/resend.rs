//! Resend: Standard Webhooks under Svix's header names.
//!
//! Request: `{"type":"email.received","data":{"email_id", "received_for":[…], …}}`,
//! which tells of a mail and does not carry it. The message is at Resend's API;
//! until it is fetched from there such a delivery is kept and buried as
//! `message_not_included`, from where it can be put back.
//!
//! Answers: as Standard Webhooks; Resend tries again for 27 hours.

use super::{Contract, Handshake, standard_webhooks};
use crate::sample::Shape;
use crate::{Answers, Coverage, DecodeError, Decoded, Sample, json};

pub(crate) const CONTRACT: Contract = Contract {
    name: "resend",
    answers: Answers::PLAIN,
    setup: &[
        "In Resend, Webhooks, add the source's URL for the event `email.received`.",
        "Copy the signing secret (`whsec_…`) into the source's `secrets`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    knobs: standard_webhooks::KNOBS,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["type"]) {
        Some("email.received") => Err(DecodeError::NotIncluded),
        Some(_) => Ok(Decoded::other_event()),
        None => Err(DecodeError::Malformed),
    }
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
