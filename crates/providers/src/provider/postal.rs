//! Postal, HTTP endpoints in every form: "Hash" (the default) or "raw message", as JSON or
//! as form data.
//!
//! Request: `X-Postal-Signature`, the base64 of an RSA signature (PKCS #1 v1.5, SHA-1) over
//! the body with the server's key. `public_key` is that key's base64, as
//! `postal default-dkim-record` shows it after `p=`. No time is signed. The raw form is
//! `{"id", "rcpt_to", "mail_from", "message", "base64":true}`. The hash form has parsed
//! fields (`rcpt_to`, `from`, `to`, `subject`, `message_id`, `timestamp`, `plain_body`,
//! `html_body`), from which a message is rebuilt. The content is the key of the delivery
//! and stays the same in retries. Other events have no `rcpt_to` and are ignored.
//!
//! Received: `timestamp`, if it is there. Postal's raw form leaves it out; then the mail
//! counts as received when it is stored.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | `http_sender.rb` of Postal, since 2017 |
//! | 503 | not proven, too large, not stored, or a body that is cut off, slow or compressed | `SoftFail`: retries 18 times with growing pauses | the same code |
//!
//! Any 4xx is a `HardFail`: the mail is lost and its sender gets a bounce. 429 is a `HardFail`
//! without a bounce. Postal's own documents say the opposite (5xx fails at once); the code
//! decides.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add postal` prints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::flaw::SourceFlaw;
use crate::payload;
use crate::payload::form::{self, Field};
use crate::payload::json::{self, Object};
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::{DecodeError, Decoded};
use crate::proof::certificate::{RsaHash, RsaKey};
use crate::proof::identity::Identity;
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::{Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "postal",
    source_name: "postal",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::Paste {
        key: "public_key",
        what: "the server's public key",
        example: EXAMPLE_KEY,
        is_list: false,
    }],
    answers: Answers::RETRY_ON_5XX,
    setup: &[
        "In Postal, add an HTTP endpoint with the source's URL; prefer the format \"raw message\".",
        "Copy the server's public key (after `p=` in its DKIM record) into `public_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::PublicKey],
    build,
};

/// A 1024-bit key made as an example; its private key was deleted.
const EXAMPLE_KEY: &str = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDPuBAPwo/5rvjspa9Z5iJxzWTfH50Y8UsFsegr2y6cLf13mIuYTNY7MyzNlBx1FEIcTLjESRbky4vXjjIczOZ0OuhfF6sIq0su2nNpskXh6ryC7GS+A/11/eVzqQYUP5HoCxW/OBrK5z7KEtrsrhbfRFAGmEBR7u7PRoT159aMdwIDAQAB";

struct Postal {
    key: RsaKey,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    let text = settings
        .public_key
        .as_deref()
        .ok_or(SourceFlaw::Missing("public_key"))?;
    let key = STANDARD
        .decode(text.trim())
        .ok()
        .and_then(|document| RsaKey::from_spki(&document))
        .ok_or(SourceFlaw::PublicKey("the base64 of an RSA key"))?;
    Ok(Box::new(Postal { key }))
}

impl Provider for Postal {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let signature = STANDARD
            .decode(request.only("x-postal-signature")?)
            .ok()
            .ok_or(VerifyError::SignatureUnknown)?;
        if !self
            .key
            .has_signed(RsaHash::Sha1, request.body(), &signature)
        {
            return Err(VerifyError::SignatureMismatch);
        }
        // The id is a number that restarts with the server, so the content is the key.
        Ok(Identity::Content.verified(source, request, None, Coverage::Body))
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = if form::is_urlencoded(content_type) {
            from_form(&form::fields(content_type, body)?)?
        } else {
            json::object(body)?
        };
        let recipient = json::text(&event, &["rcpt_to"]);
        let mail = match (json::text(&event, &["message"]), recipient) {
            (Some(message), Some(recipient)) => {
                let raw = match event.get("base64") {
                    Some(Value::Bool(true)) => payload::base64(message)?,
                    _ => message.as_bytes().to_vec(),
                };
                InboundMail::original(vec![recipient.to_owned()], raw)?
            }
            (Some(_), None) => return Err(DecodeError::NoRecipient),
            (None, Some(recipient)) => rebuilt(recipient, &event)?,
            (None, None) => return Ok(Decoded::other_event()),
        };
        let received_at = json::moment_at(&event, &["timestamp"]);
        Ok(Decoded::mail(mail.received(received_at)))
    }

    fn sample(&self, _sample: &Sample<'_>) -> Option<Post> {
        None
    }
}

/// The fields of form data with the types that the JSON form has.
fn from_form(fields: &[Field<'_>]) -> Result<Object, DecodeError> {
    let mut event = Object::new();
    for field in fields {
        let text = String::from_utf8_lossy(&field.value).into_owned();
        let value = match (field.name.as_str(), text.parse::<f64>()) {
            ("base64", _) => Value::Bool(text == "true"),
            ("timestamp", Ok(number)) => number.into(),
            _ => Value::String(text),
        };
        if event.insert(field.name.clone(), value).is_some() {
            return Err(DecodeError::DuplicateKey);
        }
    }
    Ok(event)
}

/// Rebuilds the message of the hash form.
fn rebuilt(recipient: &str, event: &Object) -> Result<InboundMail, DecodeError> {
    let field = |name: &str| json::text(event, &[name]).filter(|text| !text.is_empty());
    let message_id = field("message_id").map(|id| format!("<{id}>"));
    let headers = [
        ("From", field("from").or_else(|| field("mail_from"))),
        ("To", field("to")),
        ("Cc", field("cc")),
        ("Subject", field("subject")),
        ("Date", field("date")),
        ("Message-ID", message_id.as_deref()),
    ];
    let message = RebuiltMessage {
        headers: headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        text: field("plain_body").map(Body::utf8),
        html: field("html_body").map(Body::utf8),
    };
    InboundMail::rebuilt(vec![recipient.to_owned()], &message)
}
