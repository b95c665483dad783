//! Postal, HTTP endpoints in "raw message" form.
//!
//! Request: `X-Postal-Signature`, the base64 of an RSA signature (PKCS #1 v1.5,
//! SHA-1) over the body under the server's key; `public_key` is that key's base64
//! as `postal default-dkim-record` shows it behind `p=`. No time is signed. The
//! body is `{"id", "rcpt_to", "mail_from", "message", "base64":true}`.
//!
//! Answers: Postal bounces the mail on 5xx at once and tries again on 4xx, so what
//! could not be stored is answered 429.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{SourceName, Timestamp};
use ring::signature::{
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RsaParameters, UnparsedPublicKey,
};

use super::{Contract, Handshake, Provider, native};
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

/// Postal's choice, weak as a hash: nobody can yet make a second body for a
/// signature that exists, which is what would be needed here.
static ALGORITHM: &RsaParameters = &RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY;

struct Postal {
    key: UnparsedPublicKey<Vec<u8>>,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    let text = settings
        .public_key
        .as_deref()
        .ok_or(SourceFlaw::Missing("public_key"))?;
    let key = STANDARD
        .decode(text.trim())
        .ok()
        .and_then(|document| rsa_key(&document).map(<[u8]>::to_vec))
        .ok_or(SourceFlaw::PublicKey("the base64 of an RSA key"))?;
    Ok(Box::new(Postal {
        key: UnparsedPublicKey::new(ALGORITHM, key),
    }))
}

/// What stands before the bit string of an RSA key in an SPKI document, behind
/// the outer length: the algorithm's name and no parameters.
const RSA_ENCRYPTION: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/// The RSA key inside an SPKI document.
fn rsa_key(document: &[u8]) -> Option<&[u8]> {
    let inner = tagged(document, 0x30)?;
    let bits = tagged(inner.strip_prefix(&RSA_ENCRYPTION)?, 0x03)?;
    bits.strip_prefix(&[0])
}

/// The contents of a DER value that is all there is.
fn tagged(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(&[tag])?;
    let (length, contents) = match rest {
        [short, contents @ ..] if *short < 0x80 => (usize::from(*short), contents),
        [0x81, one, contents @ ..] => (usize::from(*one), contents),
        [0x82, high, low, contents @ ..] => (usize::from(*high) << 8 | usize::from(*low), contents),
        _ => return None,
    };
    (contents.len() == length).then_some(contents)
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
        self.key
            .verify(request.body(), &signature)
            .ok()
            .ok_or(VerifyError::SignatureMismatch)?;
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
        InboundMail::original(vec![recipient.to_owned()], raw).map(Decoded::mail)
    }

    fn sample(&self, _sample: &Sample<'_>) -> Option<Post> {
        None
    }
}
