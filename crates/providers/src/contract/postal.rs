//! Postal, HTTP endpoints in "raw message" form.
//!
//! Request: `X-Postal-Signature`, the base64 of an RSA signature (PKCS #1 v1.5,
//! SHA-1) over the body under the server's key; `public_key` is that key's base64
//! as `postal default-dkim-record` shows it behind `p=`. No time is signed. The
//! body is `{"id", "rcpt_to", "mail_from", "message", "base64":true}`; its content is
//! the delivery's key, and the same on every try.
//!
//! Received: `timestamp`, where it stands; of Postal's two forms the raw one leaves it
//! out, and then a mail that had to be posted again counts as received when it was
//! stored.
//!
//! Answers: 200 stored or duplicate; 401 not proven; 413 too large; 429 not stored.
//! Postal bounces the mail on 5xx at once and tries again on 4xx, 18 times, so
//! nothing is answered 5xx.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add postal` prints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{SourceName, Timestamp};

use super::{Contract, Handshake, Provider, native};
use crate::certificate::{RsaHash, RsaKey};
use crate::identity::Identity;
use crate::settings::Knob;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, SourceSettings,
    Verified, VerifyError, json,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "postal",
    answers: Answers {
        unavailable: 429,
        ..Answers::PLAIN
    },
    setup: &[
        "In Postal, add an HTTP endpoint with the source's URL and the format \"raw message\".",
        "Copy the server's public key (behind `p=` of its DKIM record) into `public_key`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: &[Knob::PublicKey],
    build,
};

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
        // The id is a number, and the content is as good a key.
        Ok(Identity::Content.verified(source, request, None, Coverage::Body))
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = json::object(body)?;
        let Some(message) = json::text(&event, &["message"]) else {
            return Ok(Decoded::other_event());
        };
        let recipient = json::text(&event, &["rcpt_to"]).ok_or(DecodeError::NoRecipient)?;
        let encoded = event.get("base64").and_then(serde_json::Value::as_bool);
        let raw = match encoded {
            Some(true) => native::base64(message)?,
            _ => message.as_bytes().to_vec(),
        };
        let mail = InboundMail::original(vec![recipient.to_owned()], raw)?;
        let received_at = json::moment_at(&event, &["timestamp"]);
        Ok(Decoded::mail(mail.received(received_at)))
    }

    fn sample(&self, _sample: &Sample<'_>) -> Option<Post> {
        None
    }
}
