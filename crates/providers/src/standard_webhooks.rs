//! Standard Webhooks 1.0.0, under its own header names and under Svix's; also
//! Maillatch's own payload.
//!
//! Request: `webhook-id`, `webhook-timestamp`, `webhook-signature` (or all three
//! as `svix-*`), and a JSON body:
//!
//! ```json
//! {
//!   "type": "email.received",
//!   "timestamp": "2026-01-01T00:00:00Z",
//!   "data": { "recipients": ["agent@inbox.test"], "raw": "<base64 of the message>" }
//! }
//! ```
//!
//! The signature is `v1,` and the base64 of HMAC-SHA-256 over
//! `{id}.{timestamp}.{body}`, several of them parted by spaces. The id is the
//! same on every try and is the delivery's key; the timestamp is fresh on every
//! try, so a narrow window is right.
//!
//! Set-up: mint a secret, put it in `secrets` of the source and give it to the
//! sender together with `https://HOST/hooks/NAME`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ContentDigest, DeliveryKey, Reason, SourceName, Timestamp};
use secrecy::SecretString;
use serde_json::Value;

use crate::key::{Key, KeyError, KeyForm, Keys};
use crate::source::Provider;
use crate::sources::SourceFlaw;
use crate::{
    Coverage, DecodeError, Decoded, InboundMail, RawRequest, SourceSettings, Verified, VerifyError,
    freshness, json, signature,
};

/// The provider's name in the configuration.
pub(crate) const NAME: &str = "standard-webhooks";

/// The tolerance of the reference libraries, in seconds.
const TOLERANCE: u64 = 300;
/// What may be configured instead.
const TOLERANCES: std::ops::RangeInclusive<u64> = 30..=900;
/// One mail goes to no more inboxes than this.
const MOST_RECIPIENTS: usize = 100;

/// The names of the three headers. A post uses one family or the other; one
/// that mixes them was put together by somebody who hopes that we check one
/// family's signature and believe the other's id.
struct Family {
    id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
}

const FAMILIES: [Family; 2] = [
    Family {
        id: "webhook-id",
        timestamp: "webhook-timestamp",
        signature: "webhook-signature",
    },
    Family {
        id: "svix-id",
        timestamp: "svix-timestamp",
        signature: "svix-signature",
    },
];

impl Family {
    fn is_in(&self, request: &RawRequest<'_>) -> bool {
        [self.id, self.timestamp, self.signature]
            .iter()
            .any(|name| request.has(name))
    }

    fn of(request: &RawRequest<'_>) -> Result<&'static Self, VerifyError> {
        let mut present = FAMILIES.iter().filter(|family| family.is_in(request));
        match (present.next(), present.next()) {
            (None, _) => Err(VerifyError::HeaderMissing),
            (Some(family), None) => Ok(family),
            (Some(_), Some(_)) => Err(VerifyError::FamiliesMixed),
        }
    }
}

/// Signs a post as a Standard Webhooks sender does; the value of its
/// `webhook-signature` header.
pub fn sign(
    secret: &SecretString,
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> Result<String, KeyError> {
    let key = Key::new(&secret.clone().into(), KeyForm::Whsec)?;
    let seconds = at.as_seconds().to_string();
    let mac = key.sign(&[id.as_bytes(), b".", seconds.as_bytes(), b".", body]);
    Ok(format!("v1,{}", STANDARD.encode(mac)))
}

/// A source that speaks Standard Webhooks.
#[derive(Debug)]
pub(crate) struct StandardWebhooks {
    keys: Keys,
    tolerance: Duration,
}

impl StandardWebhooks {
    pub(crate) fn build(settings: &SourceSettings) -> Result<Self, SourceFlaw> {
        let tolerance = settings.tolerance_seconds.unwrap_or(TOLERANCE);
        if !TOLERANCES.contains(&tolerance) {
            return Err(SourceFlaw::Tolerance {
                least: *TOLERANCES.start(),
                most: *TOLERANCES.end(),
            });
        }
        Ok(Self {
            keys: Keys::new(&settings.secrets, KeyForm::Whsec)?,
            tolerance: Duration::from_secs(tolerance),
        })
    }
}

impl Provider for StandardWebhooks {
    fn name(&self) -> &'static str {
        NAME
    }

    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let family = Family::of(request)?;
        let id = delivery_id(request.only(family.id)?)?;
        let written = request.only(family.timestamp)?;
        let stamp = freshness::unix_seconds(written)?;
        let signatures = signature::list(request.only(family.signature)?, "v1,")?;

        let signed = [id.as_bytes(), b".", written, b".", request.body()];
        if !self.keys.any_signed(&signed, &signatures, now) {
            return Err(VerifyError::SignatureMismatch);
        }
        freshness::check(stamp, now, self.tolerance)?;
        Ok(Verified::new(
            DeliveryKey::from_provider_id(source, id),
            ContentDigest::of(&[request.body()]),
            Coverage::Body,
        ))
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = json::object(body)?;
        match event.get("type").and_then(Value::as_str) {
            Some("email.received") => {}
            Some(_) => return Ok(Decoded::Ignored(Reason::new("event_ignored"))),
            None => return Err(DecodeError::Malformed),
        }
        let data = event
            .get("data")
            .and_then(Value::as_object)
            .ok_or(DecodeError::Malformed)?;
        Ok(Decoded::Mails(vec![InboundMail {
            recipients: recipients(data)?,
            raw: message(data)?,
            rebuilt: false,
        }]))
    }
}

/// An id without the separator: with a dot in it, `a.1` at `2…` and `a` at
/// `1.2…` would be the same signed bytes.
fn delivery_id(header: &[u8]) -> Result<&str, VerifyError> {
    let shaped = (1..=128).contains(&header.len())
        && header
            .iter()
            .all(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    str::from_utf8(header)
        .ok()
        .filter(|_| shaped)
        .ok_or(VerifyError::IdMalformed)
}

fn recipients(data: &json::Object) -> Result<Vec<String>, DecodeError> {
    let listed = data
        .get("recipients")
        .and_then(Value::as_array)
        .ok_or(DecodeError::NoRecipient)?;
    match listed.len() {
        0 => Err(DecodeError::NoRecipient),
        1..=MOST_RECIPIENTS => listed
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or(DecodeError::Malformed),
        _ => Err(DecodeError::TooManyRecipients),
    }
}

/// The message's bytes. Line ends within base64 are common and harmless;
/// anything else that is not strict base64 is refused.
fn message(data: &json::Object) -> Result<Vec<u8>, DecodeError> {
    let encoded = data
        .get("raw")
        .and_then(Value::as_str)
        .ok_or(DecodeError::Malformed)?;
    let lines: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    STANDARD.decode(lines).ok().ok_or(DecodeError::NotBase64)
}

#[cfg(test)]
mod tests;
