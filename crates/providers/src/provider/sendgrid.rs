//! `SendGrid` Inbound Parse.
//!
//! Request: `multipart/form-data` with `envelope` (`{"from","to":[…]}`) and either `email`
//! (the raw message, if "send raw" is on) or `headers`, `text` and `html`. With a security
//! policy, `X-Twilio-Email-Event-Webhook-Signature` is the base64 of an ECDSA signature
//! (P-256, SHA-256, DER) over `X-Twilio-Email-Event-Webhook-Timestamp` and the raw body;
//! `public_key` is the base64 key that the policy shows once. Without a policy a password is
//! required. `charsets` names the charset of each parsed field. `dkim` names the domains
//! whose signatures are valid. There is no delivery id, and the boundary changes with every
//! attempt, so the form's fields are the key.
//!
//! The Event Webhook posts a JSON list to a source of its own, signed in the same way with
//! another key. An event about sent mail proves a send: `maillatch` is its provider key.
//!
//! Received: not stated. The form only has the times in the mail's own headers, and the
//! signed time is that of the attempt, so a mail counts as received when it is stored.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | `SendGrid`'s support article on retries |
//! | 503 | everything else | retries for 72 hours | the same, and a published week of measurements |
//!
//! Any 3xx or 4xx drops the mail at once, without a bounce.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add sendgrid` prints.

mod dkim_results;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ProviderKey, SourceName, Timestamp};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider, tolerance};
use crate::flaw::SourceFlaw;
use crate::payload::form::{self, Field};
use crate::payload::json::{self, Object};
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::sent_event::{self, SentEvent};
use crate::payload::{DecodeError, Decoded};
use crate::proof::freshness::Unit;
use crate::proof::identity::Identity;
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError, freshness};
use crate::settings::{Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "sendgrid",
    source_name: "sendgrid",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintPassword],
    answers: Answers::RETRY_ON_5XX,
    setup: &[
        "In SendGrid, Inbound Parse, post to the source's URL with `username:password@` before \
         the host and with \"send raw\" on.",
        "Better: attach a security policy with a signature, and copy its public key into \
         `public_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: &[Setting::PublicKey, Setting::Tolerance],
    build,
};

const SIGNATURE: &str = "x-twilio-email-event-webhook-signature";
const TIMESTAMP: &str = "x-twilio-email-event-webhook-timestamp";

/// The bytes before the 65 bytes of a P-256 key in an SPKI document.
const SPKI_P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

struct SendGrid {
    key: Option<UnparsedPublicKey<Vec<u8>>>,
    tolerance: Duration,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    Ok(Box::new(SendGrid {
        key: settings.public_key.as_deref().map(key).transpose()?,
        tolerance: tolerance(
            settings,
            Duration::from_hours(73),
            Duration::from_mins(5),
            Duration::from_hours(168),
        )?,
    }))
}

fn key(text: &str) -> Result<UnparsedPublicKey<Vec<u8>>, SourceFlaw> {
    let document = STANDARD.decode(text.trim()).ok();
    let point = document
        .as_deref()
        .and_then(|document| document.strip_prefix(&SPKI_P256))
        .filter(|point| point.len() == 65)
        .ok_or(SourceFlaw::PublicKey("the base64 of a P-256 key"))?;
    Ok(UnparsedPublicKey::new(
        &ECDSA_P256_SHA256_ASN1,
        point.to_vec(),
    ))
}

impl SendGrid {
    fn prove(
        &self,
        key: &UnparsedPublicKey<Vec<u8>>,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<(), VerifyError> {
        let written = request.only(TIMESTAMP)?;
        let stamp = Unit::Seconds.read(written)?;
        let signature = STANDARD
            .decode(request.only(SIGNATURE)?)
            .ok()
            .ok_or(VerifyError::SignatureUnknown)?;
        let signed = [written, request.body()].concat();
        key.verify(&signed, &signature)
            .ok()
            .ok_or(VerifyError::SignatureMismatch)?;
        freshness::check(stamp, now, self.tolerance)
    }
}

impl Provider for SendGrid {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let coverage = match &self.key {
            Some(key) => {
                self.prove(key, request, now)?;
                Coverage::Body
            }
            None => Coverage::Password,
        };
        Ok(Identity::Content.verified(source, request, None, coverage))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.key.is_none().then_some(Coverage::Password)
    }

    fn tolerance(&self) -> Option<Duration> {
        self.key.as_ref().map(|_| self.tolerance)
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        if content_type.trim_start().starts_with("application/json") {
            let events = json::objects(body)?;
            return Ok(sent_event::decoded(events.iter().filter_map(sent)));
        }
        let fields = form::fields(content_type, body)?;
        let envelope = json::object(form::only(&fields, "envelope")?)?;
        let recipients = json::texts(&envelope, &["to"])?;
        let signers = form::optional(&fields, "dkim")?.map(dkim_results::signers);
        let from = form::optional(&fields, "from")?.map(String::from_utf8_lossy);
        let mail = if let Some(raw) = form::optional(&fields, "email")? {
            InboundMail::original(recipients, raw.to_vec())?.sender(signers)
        } else {
            let head = form::only(&fields, "headers")?;
            let signers = signers.filter(|_| is_rebuilt_as_signed(head, &fields));
            rebuilt(recipients, head, &fields)?.sender(signers)
        };
        Ok(Decoded::mail(mail.stated_from(from.as_deref())))
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        if self.key.is_some() {
            return None;
        }
        let envelope = serde_json::json!({ "to": [sample.recipient], "from": sample.from });
        let shape = Shape::multipart(&[
            ("envelope", &envelope.to_string()),
            ("email", &sample.raw()),
        ]);
        Some(shape.with(Vec::new()))
    }
}

/// The events about a mail that `SendGrid` has accepted.
const ACCEPTED: [&str; 7] = [
    "processed",
    "deferred",
    "delivered",
    "bounce",
    "open",
    "click",
    "spamreport",
];

/// Events have the arguments of the mail as fields of their own. Their id begins with the
/// one that the API answered.
fn sent(event: &Object) -> Option<SentEvent> {
    let kind = json::text(event, &["event"])?;
    let id = json::text(event, &["sg_message_id"]).and_then(|id| id.split('.').next());
    let sent = SentEvent::of(event.get(ProviderKey::TAG), id)?;
    ACCEPTED.contains(&kind).then_some(sent)
}

/// Whether a rebuilt message shows whether a signature covers the fields that say what the
/// body is. It has fields of its own instead: one type, and one encoding if it is one text. So
/// the original must have no more of them: anybody can add one to a signed mail. Nor may the
/// end of its header be in doubt.
fn is_rebuilt_as_signed(head: &[u8], fields: &[Field<'_>]) -> bool {
    let is_text = |field: &&Field<'_>| ["text", "html"].contains(&field.name.as_str());
    let is_one_text = fields.iter().filter(is_text).count() == 1;
    let lines = || head.split(|byte| *byte == b'\n');
    let is_field = |line: &[u8]| {
        let is_continued = line.starts_with(b" ") || line.starts_with(b"\t");
        is_continued || line.trim_ascii().is_empty() || name(line).is_some()
    };
    let count = |wanted: &[u8]| {
        let is_wanted = |name: &&[u8]| name.trim_ascii().eq_ignore_ascii_case(wanted);
        lines().filter_map(name).filter(is_wanted).count()
    };
    lines().all(is_field)
        && count(b"content-type") <= 1
        && count(b"content-transfer-encoding") <= usize::from(is_one_text)
}

/// The name in a line of a header.
fn name(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    line.get(..colon)
}

/// Rebuilds the message from its parsed fields; `headers` is the original's header, and
/// `charsets` names the charset of each field.
fn rebuilt(
    recipients: Vec<String>,
    head: &[u8],
    fields: &[Field<'_>],
) -> Result<InboundMail, DecodeError> {
    let head = String::from_utf8_lossy(head);
    let unfolded = head
        .replace("\r\n", "\n")
        .replace("\n ", " ")
        .replace("\n\t", " ");
    let charsets = match form::optional(fields, "charsets")? {
        Some(charsets) => json::object(charsets)?,
        None => Object::new(),
    };
    let body = |name: &'static str| {
        let charset = json::text(&charsets, &[name]).unwrap_or("utf-8");
        let bytes = form::optional(fields, name)?;
        Ok::<_, DecodeError>(bytes.map(|bytes| Body::new(bytes, charset)))
    };
    let rebuilt = RebuiltMessage {
        headers: unfolded
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name, value.trim()))
            .collect(),
        text: body("text")?,
        html: body("html")?,
    };
    InboundMail::rebuilt(recipients, &rebuilt)
}
