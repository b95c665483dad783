//! Mandrill (Mailchimp Transactional) inbound.
//!
//! Request: `X-Mandrill-Signature`, the base64 of HMAC-SHA-1 over the webhook's URL exactly
//! as it was entered there, then the name and value of each form field, sorted by name; no
//! time is signed. The form has one field, `mandrill_events`: a list of events. Those with
//! `"event":"inbound"` hold `msg.email` (the recipient) and `msg.raw_msg`. One post may
//! hold many mails; then each becomes a delivery of its own, as if it had been posted
//! alone. There is no delivery id; the content is the key.
//!
//! Received: `ts` of the event, in seconds, which stays the same when a batch is retried.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate; also to the `HEAD` that checks a new webhook | done | Mandrill's documents on webhooks |
//! | 401 | not proven | retries the whole batch | the same: any status but 200 is retried |
//! | 413 | too large | retries the whole batch | the same |
//! | 503 | not stored | retries the whole batch | the same |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mandrill` prints.

use pipeline::{SourceName, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::answers::Answers;
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::{Ask, PASTE_SECRET};
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::encoding::Encoding;
use crate::flaw::SourceFlaw;
use crate::payload::json::{self, Object};
use crate::payload::mail::InboundMail;
use crate::payload::{BatchPart, DecodeError, Decoded, form};
use crate::proof::identity::Identity;
use crate::proof::key::{Digest, KeyForm, Keys};
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::{Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mandrill",
    source_name: "mandrill",
    posts: Posts::Original,
    polling: None,
    asks: &[PASTE_SECRET, Ask::WebhookUrl("url")],
    answers: Answers::PLAIN,
    setup: &[
        "In Mandrill, Inbound, add a route to the source's URL.",
        "Set `url` to that URL exactly as entered, and copy the webhook key into `secrets`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::Head,
    api: None,
    takes: &[Setting::Secrets, Setting::Url],
    build,
};

/// The one field of the form.
const EVENTS: &str = "mandrill_events";

struct Mandrill {
    keys: Keys,
    url: String,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    Ok(Box::new(Mandrill {
        keys: Keys::new(&settings.secrets, KeyForm::Literal, Digest::Sha1)?,
        url: settings.url.clone().ok_or(SourceFlaw::Missing("url"))?,
    }))
}

impl Provider for Mandrill {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let header = request.only("x-mandrill-signature")?;
        let signature = str::from_utf8(header)
            .ok()
            .and_then(|text| Encoding::Base64.decode(text))
            .ok_or(VerifyError::SignatureUnknown)?;
        let fields = form::fields(request.content_type(), request.body())
            .ok()
            .ok_or(VerifyError::ProofMissing)?;
        // Names and values are signed without separators, so a form of several fields
        // could be split differently. Mandrill sends exactly one field.
        let [field] = &fields[..] else {
            return Err(VerifyError::ProofMissing);
        };
        let signed = [self.url.as_bytes(), field.name.as_bytes(), &*field.value];
        if field.name != EVENTS || !self.keys.any_signed(&signed, &[signature], now) {
            return Err(VerifyError::SignatureMismatch);
        }
        Ok(Identity::Content.verified(source, request, None, Coverage::Body))
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let fields = form::fields(content_type, body)?;
        let events = str::from_utf8(form::only(&fields, EVENTS)?)
            .ok()
            .ok_or(DecodeError::Malformed)?;
        let events: Vec<&RawValue> = serde_json::from_str(events)
            .ok()
            .ok_or(DecodeError::Malformed)?;
        let inbound: Vec<&RawValue> = events.into_iter().filter(|one| may_be_mail(one)).collect();
        match inbound.as_slice() {
            [] => Ok(Decoded::other_event()),
            [event] => mail(&json::object(event.get().as_bytes())?).map(Decoded::mail),
            many => Ok(Decoded::Batch(
                many.iter().map(|event| part(event)).collect(),
            )),
        }
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let events = serde_json::json!([{
            "event": "inbound",
            "ts": sample.at.as_seconds(),
            "msg": {
                "email": sample.recipient,
                "from_email": sample.from,
                "raw_msg": sample.raw(),
            },
        }])
        .to_string();
        let signed = [self.url.as_bytes(), EVENTS.as_bytes(), events.as_bytes()];
        let signature = Encoding::Base64.encode(self.keys.sign(&signed)?.as_ref());
        let headers = vec![("x-mandrill-signature".to_owned(), signature)];
        Some(Shape::form(&[(EVENTS, &events)]).with(headers))
    }
}

/// Only the kind of an event; everything else in it is skipped.
#[derive(Deserialize)]
struct EventKind {
    event: Option<String>,
}

/// Whether an event is inbound mail. One that cannot be read may be: it gets a delivery of
/// its own, where the failure is visible.
fn may_be_mail(event: &RawValue) -> bool {
    let kind: Result<EventKind, _> = serde_json::from_str(event.get());
    kind.map_or(true, |kind| kind.event.as_deref() == Some("inbound"))
}

/// The post that Mandrill would have sent for this event alone.
fn part(event: &RawValue) -> BatchPart {
    let shape = Shape::form(&[(EVENTS, &format!("[{}]", event.get()))]);
    BatchPart {
        content_type: shape.content_type,
        body: shape.body,
    }
}

fn mail(event: &Object) -> Result<InboundMail, DecodeError> {
    let field = |name| json::text(event, &["msg", name]);
    let recipient = field("email").ok_or(DecodeError::NoRecipient)?;
    let raw = field("raw_msg").ok_or(DecodeError::Malformed)?;
    let mail = InboundMail::original(vec![recipient.to_owned()], raw.into())?;
    let received_at = json::moment_at(event, &["ts"]);
    Ok(mail.stated_from(field("from_email")).received(received_at))
}
