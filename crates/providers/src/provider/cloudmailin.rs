//! `CloudMailin`.
//!
//! Request: unsigned. The password (`username` and `password` in the URL, or `url_token`)
//! is the only proof and is required. There are two formats: JSON (`envelope.recipients`,
//! `headers`, `plain`, `html`), and multipart with the message in `message`. There is no
//! delivery id; the content is the key.
//!
//! Received: not stated. `CloudMailin` posts while the sending server waits, so a mail
//! counts as received when it is stored. `headers.date` comes from the sender.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | tells the sending server that the mail is delivered | `CloudMailin`'s documents on status codes |
//! | 503 | everything else | tells the sending server to retry later | the same |
//!
//! A 4xx rejects the mail, and its sender gets a bounce. So a wrong password or a low size
//! limit delays mail and does not bounce it.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add cloudmailin` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::payload::form::Field;
use crate::payload::json::Object;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::{DecodeError, Decoded, form, json};
use crate::proof::identity::Identity;
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};

pub(crate) const CONTRACT: Contract = Contract {
    name: "cloudmailin",
    source_name: "cloudmailin",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintPassword],
    answers: Answers::RETRY_ON_5XX,
    setup: &[
        "In CloudMailin, set the target to the source's URL with `username:password@` before the \
         host, and the format to \"raw\" (best) or \"JSON (normalized)\".",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    takes: &[],
    build: |_| Ok(Box::new(CloudMailin)),
};

struct CloudMailin;

impl Provider for CloudMailin {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        Ok(Identity::Content.verified(source, request, None, Coverage::Password))
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        match form::multipart(content_type, body) {
            Some(fields) => raw(&fields?),
            None => normalized(&json::object(body)?),
        }
        .map(Decoded::mail)
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let shape = Shape::multipart(&[
            ("envelope[to]", sample.recipient),
            ("envelope[from]", sample.from),
            ("message", &sample.raw()),
        ]);
        Some(shape.with(Vec::new()))
    }
}

/// Reads the raw format: the message in `message`, the envelope in fields with brackets.
fn raw(fields: &[Field<'_>]) -> Result<InboundMail, DecodeError> {
    let named = |prefix: &str| {
        let found = fields.iter().filter(|field| field.name.starts_with(prefix));
        let texts = found.map(|field| String::from_utf8_lossy(&field.value).into_owned());
        texts.collect::<Vec<_>>()
    };
    let recipients = match named("envelope[recipients]") {
        none if none.is_empty() => named("envelope[to]"),
        some => some,
    };
    InboundMail::original(recipients, form::only(fields, "message")?.to_vec())
}

fn normalized(event: &Object) -> Result<InboundMail, DecodeError> {
    let recipients = match json::texts(event, &["envelope", "recipients"])? {
        none if none.is_empty() => json::text(event, &["envelope", "to"])
            .map(str::to_owned)
            .into_iter()
            .collect(),
        some => some,
    };
    let headers: Vec<(String, &str)> = json::at(event, &["headers"])
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .flat_map(|(name, value)| {
            let values = match value {
                Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect::<Vec<_>>(),
            };
            let name = name.replace('_', "-");
            values.into_iter().map(move |value| (name.clone(), value))
        })
        .collect();
    let rebuilt = RebuiltMessage {
        headers: headers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect(),
        text: json::text(event, &["plain"]).map(Body::utf8),
        html: json::text(event, &["html"]).map(Body::utf8),
    };
    if rebuilt.text.is_none() && rebuilt.html.is_none() {
        return Err(DecodeError::Malformed);
    }
    InboundMail::rebuilt(recipients, &rebuilt)
}
