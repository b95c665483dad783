//! Mandrill (Mailchimp Transactional) inbound.
//!
//! Request: `X-Mandrill-Signature`, the base64 of HMAC-SHA-1 over the webhook's
//! URL exactly as it was entered there, then each form field's name and value
//! with the names in order; no time is signed. The form has one field,
//! `mandrill_events`: a list of events, of which those with `"event":"inbound"`
//! hold `msg.email` (the recipient) and `msg.raw_msg`. One post may hold many
//! mails. There is no delivery id; the content is the key.
//!
//! Received: `ts` of the event, in seconds, which a batch keeps when it is tried again.
//!
//! Answers: 200 stored or duplicate, and to the `HEAD` with which Mandrill checks a
//! new webhook; 401 not proven; 413 too large; 503 not stored. Mandrill tries again on
//! every status but 2xx, and a batch is tried again whole.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mandrill` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use super::{Contract, Handshake, Provider};
use crate::form;
use crate::identity::Identity;
use crate::key::{Digest, KeyForm, Keys};
use crate::sample::Shape;
use crate::settings::Knob;
use crate::signature::Encoding;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, SourceSettings,
    Verified, VerifyError, json,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mandrill",
    answers: Answers::PLAIN,
    setup: &[
        "In Mandrill, Inbound, add a route to the source's URL.",
        "Set `url` to that URL exactly as entered, and copy the webhook key into `secrets`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::Head,
    api: None,
    knobs: &[Knob::Secrets, Knob::Url],
    build,
};

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
        // Names and values are signed without anything between them, so a form
        // of several fields could be cut up anew; Mandrill sends just one.
        let [field] = &fields[..] else {
            return Err(VerifyError::ProofMissing);
        };
        let signed = [self.url.as_bytes(), field.name.as_bytes(), &*field.value];
        if field.name != "mandrill_events" || !self.keys.any_signed(&signed, &[signature], now) {
            return Err(VerifyError::SignatureMismatch);
        }
        Ok(Identity::Content.verified(source, request, None, Coverage::Body))
    }

    fn decode(&self, content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let fields = form::fields(content_type, body)?;
        let events = str::from_utf8(form::only(&fields, "mandrill_events")?)
            .ok()
            .ok_or(DecodeError::Malformed)?;
        let batch = json::object(format!("{{\"events\":{events}}}").as_bytes())?;
        let mails = json::list(&batch, &["events"])
            .iter()
            .filter(|event| event.get("event").and_then(Value::as_str) == Some("inbound"))
            .map(mail)
            .collect::<Result<Vec<_>, _>>()?;
        if mails.is_empty() {
            Ok(Decoded::other_event())
        } else {
            Ok(Decoded::Mails(mails))
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
        let signed = [self.url.as_bytes(), b"mandrill_events", events.as_bytes()];
        let signature = Encoding::Base64.encode(&self.keys.sign(&signed)?);
        let headers = vec![("x-mandrill-signature".to_owned(), signature)];
        Some(Shape::form(&[("mandrill_events", &events)]).with(headers))
    }
}

fn mail(event: &Value) -> Result<InboundMail, DecodeError> {
    let message = event.get("msg").ok_or(DecodeError::Malformed)?;
    let field = |name| message.get(name).and_then(Value::as_str);
    let recipient = field("email").ok_or(DecodeError::NoRecipient)?;
    let raw = field("raw_msg").ok_or(DecodeError::Malformed)?;
    let mail = InboundMail::original(vec![recipient.to_owned()], raw.into())?;
    let received_at = event.get("ts").and_then(json::moment);
    Ok(mail.stated_from(field("from_email")).received(received_at))
}
