//! `MailerSend` inbound routes.
//!
//! Request: `Signature`, the lower-case hex of HMAC-SHA-256 over the body with the inbound
//! route's secret, taken literally; no time is signed. The body is
//! `{"type":"inbound.message","data":{"id", "recipients":{"rcptTo":[{"email"}]}, "raw"}}`
//! with the message as text.
//!
//! Received: `data.created_at`, else `created_at`. `data.date` is a header of the mail and
//! is not used.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | its documents on inbound routing: any status but 2xx |
//! | 401 | not proven | retries | its documents on inbound routing: any status but 2xx |
//! | 413 | too large | retries | its documents on inbound routing: any status but 2xx |
//! | 503 | not stored | retries | its documents on inbound routing: any status but 2xx |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailersend` prints.

use serde_json::Value;

use crate::contract::answers::Answers;
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::PASTE_SECRET;
use crate::contract::symmetric::Symmetric;
use crate::contract::{Contract, Handshake, Posts};
use crate::encoding::Encoding;
use crate::payload::mail::InboundMail;
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::Coverage;
use crate::proof::identity::Identity;
use crate::proof::key::{Digest, KeyForm, Keys};
use crate::proof::scheme::{Family, Part, Scheme};
use crate::proof::signature::Layout;
use crate::settings::Setting;

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailersend",
    source_name: "mailersend",
    posts: Posts::Original,
    polling: None,
    asks: &[PASTE_SECRET],
    answers: Answers::PLAIN,
    setup: &[
        "In MailerSend, Domains, Inbound routes, post to the source's URL.",
        "Copy the route's secret into the source's `secrets`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::Secrets],
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

/// A sample mail as the body of a post.
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
