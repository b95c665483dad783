//! Mailgun routes with `forward()`.
//!
//! Request: a form with `timestamp`, `token`, `signature`, `recipient`, and either
//! `body-mime` (if the URL ends in `mime`) or parsed fields (`message-headers`,
//! `body-plain`, `body-html`). The signature is the lower-case hex of HMAC-SHA-256 over
//! `{timestamp}{token}` with the HTTP webhook signing key: it does **not** cover the body.
//! The token is used once for each secret: the signature is the key of the delivery, also
//! where several sources share a secret. The same token with another body
//! means that somebody saw a post and made another one; it is refused. A password
//! (`username` and `password`, or `url_token`) keeps such a sender out entirely.
//!
//! Event webhooks (JSON, with the proof in a `signature` object) are proven in the same
//! way. An event about sent mail proves a send: `user-variables` has its provider key.
//! Other events are closed as ignored.
//!
//! Retries keep the timestamp and token of the first attempt and go on for eight hours, so
//! a proof may be that old.
//!
//! Received: the signed `timestamp`, which is that of the first attempt.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | Mailgun's documents on retries |
//! | 401 | not proven, stale, or a used token with another body | retries for 8 hours | the same: any other code is retried |
//! | 413 | too large | retries for 8 hours | the same |
//! | 503 | not stored | retries for 8 hours | the same |
//!
//! 406 would give the mail up, so it is never sent.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailgun` prints.

use std::time::Duration;

use pipeline::{ContentDigest, DeliveryKey, SourceName, Timestamp};
use serde_json::Value;

use crate::contract::answers::Answers;
use crate::contract::polling::{PollClient, Polling};
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::{Ask, PASTE_SECRET};
use crate::contract::{Contract, Handshake, Posts, Provider, tolerance};
use crate::encoding::Encoding;
use crate::flaw::SourceFlaw;
use crate::payload::form::Field;
use crate::payload::json::Object;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::sent_event::{self, SentEvent};
use crate::payload::{DecodeError, Decoded, form, json};
use crate::proof::freshness::Unit;
use crate::proof::key::{Digest, KeyForm, Keys};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError, freshness};
use crate::settings::{Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailgun",
    source_name: "mailgun-mime",
    posts: Posts::Original,
    polling: Some(Polling::with(PollClient::Mailgun)),
    asks: &[PASTE_SECRET, Ask::MintPassword],
    answers: Answers::PLAIN,
    setup: &[
        "Keep the source's name ending in `mime`, such as `mailgun-mime`: Mailgun sends the raw \
         message to URLs that end in `mime`.",
        "In Mailgun, Receiving, create a route that forwards to the source's URL.",
        "Copy the HTTP webhook signing key into the source's `secrets`.",
        "Set `username` and `password` and put them into the URL as `username:password@` before \
         the host: Mailgun's signature does not cover the body.",
    ],
    coverage: Coverage::TokenOnly,
    handshake: Handshake::None,
    api: Some("https://api.mailgun.net"),
    takes: &[
        Setting::Secrets,
        Setting::Tolerance,
        Setting::Api,
        Setting::Poll,
    ],
    build,
};

/// The fields of the proof. A retry may have new ones.
const PROOF: [&str; 3] = ["timestamp", "token", "signature"];

struct Mailgun {
    /// The first part of every delivery key.
    namespace: SourceName,
    keys: Keys,
    tolerance: Duration,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    let namespace = CONTRACT.name.parse();
    Ok(Box::new(Mailgun {
        namespace: namespace.ok().ok_or(SourceFlaw::Name)?,
        keys: Keys::new(&settings.secrets, KeyForm::Literal, Digest::Sha256)?,
        tolerance: tolerance(
            settings,
            Duration::from_hours(9),
            Duration::from_mins(5),
            Duration::from_hours(72),
        )?,
    }))
}

/// The proof in a post.
struct Proof {
    timestamp: Vec<u8>,
    token: String,
    signature: Vec<u8>,
    content: ContentDigest,
}

impl Provider for Mailgun {
    fn verify(
        &self,
        _source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let proof = proof(request)?;
        let signature = Encoding::Hex.encode(&proof.signature);
        let stamp = Unit::Seconds.read(&proof.timestamp)?;
        let signed = [proof.timestamp.as_slice(), proof.token.as_bytes()];
        if !self.keys.any_signed(&signed, &[proof.signature], now) {
            return Err(VerifyError::SignatureMismatch);
        }
        freshness::check(stamp, now, self.tolerance)?;
        Ok(Verified::new(
            // A token is used once for each secret, whichever sources share the secret.
            // The signature is the MAC of the token with the secret, so it is the key.
            DeliveryKey::from_provider_id(&self.namespace, &signature),
            proof.content,
            Coverage::TokenOnly,
        ))
    }

    fn tolerance(&self) -> Option<Duration> {
        Some(self.tolerance)
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        if is_json(content_type) {
            return Ok(sent(&json::object(body)?));
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
        // A token consists of letters and digits.
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
            ("signature", &Encoding::Hex.encode(mac.as_ref())),
        ]);
        Some(shape.with(Vec::new()))
    }
}

/// The events about a mail that Mailgun has accepted.
const ACCEPTED: [&str; 7] = [
    "accepted",
    "delivered",
    "failed",
    "opened",
    "clicked",
    "unsubscribed",
    "complained",
];

fn sent(event: &Object) -> Decoded {
    let field = |path: &[&str]| json::at(event, &[&["event-data"], path].concat());
    let kind = field(&["event"]).and_then(Value::as_str);
    let id = field(&["message", "headers", "message-id"]).and_then(Value::as_str);
    let is_accepted = kind.is_some_and(|kind| ACCEPTED.contains(&kind));
    let sent = SentEvent::of(field(&["user-variables"]), id);
    sent_event::decoded(sent.filter(|_| is_accepted))
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

/// The signed time, if the form has one.
fn received_at(fields: &[Field<'_>]) -> Result<Option<Timestamp>, DecodeError> {
    let written = form::optional(fields, "timestamp")?;
    Ok(written.and_then(|written| Unit::Seconds.read(written).ok()))
}

fn text(value: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(value).ok().ok_or(DecodeError::Malformed)
}

/// All values of a field, one after the other. Mailgun repeats `body-html` for a mail
/// with several HTML parts.
fn joined(fields: &[Field<'_>], name: &str) -> Result<Option<String>, DecodeError> {
    let values = fields.iter().filter(|field| field.name == name);
    let values = values.map(|field| text(&field.value));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok((!values.is_empty()).then(|| values.join("\n")))
}

/// Rebuilds the message from its parsed fields; `message-headers` is a list of pairs.
fn rebuilt(recipients: Vec<String>, fields: &[Field<'_>]) -> Result<InboundMail, DecodeError> {
    let listed = format!(
        "{{\"headers\":{}}}",
        text(form::only(fields, "message-headers")?)?
    );
    let headers = json::object(listed.as_bytes())?;
    let (plain, html) = (joined(fields, "body-plain")?, joined(fields, "body-html")?);
    let rebuilt = RebuiltMessage {
        headers: json::list(&headers, &["headers"])
            .iter()
            .filter_map(|pair| match pair.as_array()?.as_slice() {
                [Value::String(name), Value::String(value)] => Some((&**name, &**value)),
                _ => None,
            })
            .collect(),
        text: plain.as_deref().map(Body::utf8),
        html: html.as_deref().map(Body::utf8),
    };
    InboundMail::rebuilt(recipients, &rebuilt)
}
