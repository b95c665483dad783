//! Mailgun routes with `forward()`.
//!
//! Request: a form with `timestamp`, `token`, `signature`, `recipient`, and either
//! `body-mime` (if the URL ends in `mime`) or parsed fields (`message-headers`,
//! `body-plain`, `body-html`). The signature is the lower-case hex of
//! HMAC-SHA-256 over `{timestamp}{token}` under the HTTP webhook signing key: it
//! does **not** cover the body. The token is used once and is the delivery's key;
//! the same token with another body is somebody who has seen a post and made
//! another, and is refused. A password in front (`username` and `password`, or
//! `url_token`) keeps such a somebody out altogether.
//!
//! Event webhooks (JSON, the proof in a `signature` object) are proven the same
//! way and closed as ignored.
//!
//! Retries carry the first try's timestamp and token, and go on for eight hours,
//! so that is how old a proof may be.
//!
//! Received: the signed `timestamp`, which is that of the first try.
//!
//! Answers: 200 stored or duplicate; 401 not proven, stale, or a token that was used
//! with another body; 413 too large; 503 not stored. Mailgun tries again on every
//! status but 2xx and 406, so a mis-set key loses nothing for eight hours; 406, which
//! gives the mail up, is not sent.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailgun` prints.

use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, SourceName, Timestamp};
use serde_json::Value;

use super::{Contract, Handshake, Provider, tolerance};
use crate::form::{self, Field};
use crate::freshness::{self, Unit};
use crate::key::{Digest, KeyForm, Keys};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::settings::Knob;
use crate::signature::Encoding;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, SourceSettings,
    Verified, VerifyError, json,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailgun",
    answers: Answers::PLAIN,
    setup: &[
        "Give the source a name that ends in `mime`, such as `mailgun-mime`: Mailgun sends the \
         raw message to a URL that ends so.",
        "In Mailgun, Receiving, create a route that forwards to the source's URL.",
        "Copy the HTTP webhook signing key into the source's `secrets`.",
        "Set `username` and `password` and put them into the URL as `username:password@` before \
         the host: the signature leaves out the body.",
    ],
    coverage: Coverage::TokenOnly,
    handshake: Handshake::None,
    api: Some("https://api.mailgun.net"),
    knobs: &[Knob::Secrets, Knob::Tolerance, Knob::Api, Knob::Poll],
    build,
};

/// The fields that prove, and that a retry may carry anew.
const PROOF: [&str; 3] = ["timestamp", "token", "signature"];

struct Mailgun {
    keys: Keys,
    tolerance: Duration,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    Ok(Box::new(Mailgun {
        keys: Keys::new(&settings.secrets, KeyForm::Literal, Digest::Sha256)?,
        tolerance: tolerance(
            settings,
            Duration::from_hours(9),
            Duration::from_mins(5),
            Duration::from_hours(72),
        )?,
    }))
}

/// What a post says of itself.
struct Proof {
    timestamp: Vec<u8>,
    token: String,
    signature: Vec<u8>,
    content: ContentDigest,
}

impl Provider for Mailgun {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let proof = proof(request)?;
        let stamp = Unit::Seconds.read(&proof.timestamp)?;
        let signed = [proof.timestamp.as_slice(), proof.token.as_bytes()];
        if !self.keys.any_signed(&signed, &[proof.signature], now) {
            return Err(VerifyError::SignatureMismatch);
        }
        freshness::check(stamp, now, self.tolerance)?;
        Ok(Verified::new(
            DeliveryKey::from_provider_id(source, &proof.token),
            proof.content,
            Coverage::TokenOnly,
        ))
    }

    fn tolerance(&self) -> Option<Duration> {
        Some(self.tolerance)
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        if is_json(content_type) {
            json::object(body)?;
            return Ok(Decoded::other_event());
        }
        let fields = form::fields(content_type, body)?;
        let recipients = text(form::only(&fields, "recipient")?)?
            .split(',')
            .map(|one| one.trim().to_owned())
            .collect();
        let received_at = received_at(&fields)?;
        match form::optional(&fields, "body-mime")? {
            Some(raw) => {
                let from = form::optional(&fields, "from")?.map(text).transpose()?;
                let mail = InboundMail::original(recipients, raw.to_vec());
                mail.map(|mail| mail.stated_from(from))
            }
            None => rebuilt(recipients, &fields),
        }
        .map(|mail| Decoded::mail(mail.received(received_at)))
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let stamp = Unit::Seconds.write(sample.at);
        // The token is letters and digits alone.
        let token: String = sample
            .id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let mac = self.keys.sign(&[stamp.as_bytes(), token.as_bytes()])?;
        let shape = Shape::form(&[
            ("recipient", sample.recipient),
            ("sender", sample.from),
            ("from", sample.from),
            ("subject", sample.subject),
            ("body-mime", &sample.raw()),
            ("timestamp", &stamp),
            ("token", &token),
            ("signature", &Encoding::Hex.encode(&mac)),
        ]);
        Some(shape.with(Vec::new()))
    }
}

fn is_json(content_type: &str) -> bool {
    content_type.trim_start().starts_with("application/json")
}

fn proof(request: &RawRequest<'_>) -> Result<Proof, VerifyError> {
    let content_type = request.content_type();
    let read = if is_json(content_type) {
        proof_in_json(request.body())
    } else {
        proof_in_form(content_type, request.body())
    };
    let proof = read.ok().ok_or(VerifyError::ProofMissing)?;
    let shaped = (1..=128).contains(&proof.token.len())
        && proof.token.bytes().all(|b| b.is_ascii_alphanumeric());
    if shaped {
        Ok(proof)
    } else {
        Err(VerifyError::IdMalformed)
    }
}

fn proof_in_form(content_type: &str, body: &[u8]) -> Result<Proof, DecodeError> {
    let fields = form::first_fields(content_type, body, &PROOF)?;
    let signature = text(form::only(&fields, "signature")?)?;
    Ok(Proof {
        timestamp: form::only(&fields, "timestamp")?.to_vec(),
        token: text(form::only(&fields, "token")?)?.to_owned(),
        signature: Encoding::Hex
            .decode(signature)
            .ok_or(DecodeError::Malformed)?,
        content: form::digest(&fields, &PROOF),
    })
}

fn proof_in_json(body: &[u8]) -> Result<Proof, DecodeError> {
    let event = json::object(body)?;
    let field = |name| json::text(&event, &["signature", name]).ok_or(DecodeError::Malformed);
    Ok(Proof {
        timestamp: field("timestamp")?.into(),
        token: field("token")?.to_owned(),
        signature: Encoding::Hex
            .decode(field("signature")?)
            .ok_or(DecodeError::Malformed)?,
        content: ContentDigest::of(&[body]),
    })
}

/// The signed time; a body without one was not proven by it.
fn received_at(fields: &[Field<'_>]) -> Result<Option<Timestamp>, DecodeError> {
    let written = form::optional(fields, "timestamp")?;
    Ok(written.and_then(|written| Unit::Seconds.read(written).ok()))
}

fn text(value: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(value).ok().ok_or(DecodeError::Malformed)
}

/// The message from its parsed fields; `message-headers` is a list of pairs.
fn rebuilt(recipients: Vec<String>, fields: &[Field<'_>]) -> Result<InboundMail, DecodeError> {
    let listed = format!(
        "{{\"headers\":{}}}",
        text(form::only(fields, "message-headers")?)?
    );
    let headers = json::object(listed.as_bytes())?;
    let body = |name| form::optional(fields, name)?.map(text).transpose();
    let letter = Letter {
        headers: json::list(&headers, &["headers"])
            .iter()
            .filter_map(|pair| match pair.as_array()?.as_slice() {
                [Value::String(name), Value::String(value)] => Some((&**name, &**value)),
                _ => None,
            })
            .collect(),
        text: body("body-plain")?,
        html: body("body-html")?,
    };
    InboundMail::rebuilt(recipients, &letter)
}
