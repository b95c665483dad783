//! `CloudMailin`.
//!
//! Request: unsigned; the password in front (`username` and `password` in the
//! URL, or `url_token`) is the only proof, and is required. Three formats: JSON
//! (`envelope.recipients`, `headers`, `plain`, `html`), and multipart, whose raw
//! form holds the message in `message`. There is no delivery id; the content is
//! the key.
//!
//! Received: not stated, and hardly needed: `CloudMailin` posts while the sending
//! server waits, so a mail is received when it is stored. `headers.date` is the
//! sender's.
//!
//! Answers: 200 stored or duplicate; 503 for everything else, be it not proven, too
//! large, not stored, or a body that breaks off or is compressed. `CloudMailin`
//! answers the sending mail server while we answer it: a 4xx rejects the mail and
//! tells its sender, a 5xx makes that server try again for days. So a mis-set
//! password or a low limit delays mail, and does not bounce it.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add cloudmailin` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use super::{Contract, Handshake, Provider};
use crate::form::{self, Field};
use crate::identity::Identity;
use crate::json::{self, Object};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, Verified,
    VerifyError,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "cloudmailin",
    answers: Answers {
        unproven: 503,
        too_large: 503,
        unavailable: 503,
        unread: Some(503),
    },
    setup: &[
        "Set `username` and `password` of the source.",
        "In CloudMailin, set the target to the source's URL with `username:password@` before the \
         host, and the format to \"raw\" (best) or \"JSON (normalized)\".",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: None,
    knobs: &[],
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

/// The raw format: `message`, and the envelope in fields with brackets.
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
    let letter = Letter {
        headers: headers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect(),
        text: json::text(event, &["plain"]),
        html: json::text(event, &["html"]),
    };
    if letter.text.is_none() && letter.html.is_none() {
        return Err(DecodeError::Malformed);
    }
    InboundMail::rebuilt(recipients, &letter)
}
