//! `MailerSend` inbound routes.
//!
//! Request: `Signature`, the lower-case hex of HMAC-SHA-256 over the body under
//! the inbound route's secret, taken literally; no time is signed. The body is
//! `{"type":"inbound.message","data":{"id", "recipients":{"rcptTo":[{"email"}]},
//! "raw"}}` with the message as text.
//!
//! Received: `data.created_at`, else `created_at`. `data.date` is the sender's header, and
//! is not believed.
//!
//! Answers: 200 stored or duplicate; 401 not proven; 413 too large; 503 not stored.
//! `data.id` is the delivery's key. `MailerSend` tries again on every status but 2xx.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailersend` prints.

use serde_json::Value;

use super::{Contract, Handshake};
use crate::identity::Identity;
use crate::key::{Digest, KeyForm, Keys};
use crate::sample::Shape;
use crate::scheme::{Family, Part, Scheme};
use crate::settings::Knob;
use crate::signature::{Encoding, Layout};
use crate::symmetric::Symmetric;
use crate::{Answers, Coverage, DecodeError, Decoded, InboundMail, Sample, json};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailersend",
    answers: Answers::PLAIN,
    setup: &[
        "In MailerSend, Domains, Inbound routes, post to the source's URL.",
        "Copy the route's secret into the source's `secrets`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::Secrets],
    build: |settings| {
        Ok(Box::new(Symmetric {
            scheme: Scheme {
                families: vec![Family::signature("signature")],
                layout: Layout::Single {
                    prefix: String::new(),
                    encoding: Encoding::Hex,
                },
                signed: vec![Part::Body],
                stamp: None,
            },
            keys: Keys::new(&settings.secrets, KeyForm::Literal, Digest::Sha256)?,
            identity: Identity::Field(vec!["data".to_owned(), "id".to_owned()]),
            decoder: Box::new(decode),
            shape: Some(shape),
        }))
    },
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["type"]) {
        Some("inbound.message") => {}
        Some(_) => return Ok(Decoded::other_event()),
        None => return Err(DecodeError::Malformed),
    }
    let recipients = json::list(&event, &["data", "recipients", "rcptTo"])
        .iter()
        .filter_map(|recipient| recipient.get("email").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    let raw = json::text(&event, &["data", "raw"]).ok_or(DecodeError::Malformed)?;
    let mail = InboundMail::original(recipients, raw.into())?;
    let from = json::text(&event, &["data", "from", "email"]);
    let received_at = json::moment_at(&event, &["data", "created_at"])
        .or_else(|| json::moment_at(&event, &["created_at"]));
    let mail = mail.stated_from(from).received(received_at);
    Ok(Decoded::mail(mail))
}

fn shape(sample: &Sample<'_>) -> Shape {
    Shape::json(&serde_json::json!({
        "type": "inbound.message",
        "data": {
            "id": sample.id,
            "created_at": sample.at.to_string(),
            "from": { "email": sample.from },
            "recipients": { "rcptTo": [{ "email": sample.recipient }] },
            "raw": sample.raw(),
        },
    }))
}
