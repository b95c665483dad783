//! Standard Webhooks 1.0.0, under its own header names and under Svix's, with
//! Maillatch's own payload.
//!
//! Request: `webhook-id`, `webhook-timestamp`, `webhook-signature` (or all three
//! as `svix-*`), and the JSON body of `native.rs`. The signature is `v1,` and the
//! base64 of HMAC-SHA-256 over `{id}.{timestamp}.{body}`, several of them parted
//! by spaces; or, where `public_key` is set instead of `secrets`, `v1a,` and the
//! base64 of an Ed25519 signature over the same. The id is the same on every try and
//! is the delivery's key; the timestamp is fresh on every try, so a narrow window is
//! right.
//!
//! Received: `timestamp` of Maillatch's own payload, if it is there; the signed time is
//! that of each try and says nothing of the mail.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale, and it is sent again for
//! a day; 413 too large; 503 not stored.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add standard-webhooks` prints.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use secrecy::SecretString;

use super::{Contract, Handshake, Provider, native, tolerance};
use crate::freshness::Unit;
use crate::identity::Identity;
use crate::key::{Digest, Key, KeyForm, Keys};
use crate::sample::Shape;
use crate::scheme::{Family, Part, Scheme, Stamp};
use crate::settings::Knob;
use crate::signature::{Encoding, Layout};
use crate::sources::SourceFlaw;
use crate::symmetric::{Decoder, Symmetric};
use crate::{Answers, Coverage, KeyError, Sample, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "standard-webhooks",
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Give it and the source's URL to the sender.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: KNOBS,
    build: |settings| build(settings, Box::new(native::decode), Shape::native),
};

/// What every contract of this scheme may be told.
pub(super) const KNOBS: &[Knob] = &[Knob::Secrets, Knob::PublicKey, Knob::Tolerance];

/// The same, for a provider whose mail may have to be fetched.
pub(super) const KNOBS_WITH_API: &[Knob] = &[
    Knob::Secrets,
    Knob::PublicKey,
    Knob::Tolerance,
    Knob::Api,
    Knob::Poll,
];

/// A source of this scheme with some payload.
pub(super) fn build(
    settings: &SourceSettings,
    decoder: Decoder,
    shape: fn(&Sample<'_>) -> Shape,
) -> Result<Box<dyn Provider>, SourceFlaw> {
    let tolerance = tolerance(
        settings,
        Duration::from_mins(5),
        Duration::from_secs(30),
        Duration::from_mins(15),
    )?;
    let (version, keys) = match &settings.public_key {
        Some(_) if !settings.secrets.is_empty() => return Err(SourceFlaw::Unfit("public_key")),
        Some(text) => {
            let keys = Keys::ed25519(text);
            (
                "v1a,",
                keys.ok_or(SourceFlaw::PublicKey("`whpk_` and base64"))?,
            )
        }
        None => {
            let keys = Keys::new(&settings.secrets, KeyForm::Whsec, Digest::Sha256)?;
            ("v1,", keys)
        }
    };
    Ok(Box::new(Symmetric {
        scheme: scheme(version, tolerance),
        keys,
        identity: Identity::Header,
        decoder,
        shape: Some(shape),
    }))
}

fn scheme(version: &str, tolerance: Duration) -> Scheme {
    let family = |brand: &str| Family {
        id: Some(format!("{brand}-id")),
        timestamp: Some(format!("{brand}-timestamp")),
        signature: format!("{brand}-signature"),
    };
    let dot = || Part::Text(".".to_owned());
    Scheme {
        families: vec![family("webhook"), family("svix")],
        layout: Layout::List {
            prefix: version.to_owned(),
            encoding: Encoding::Base64,
        },
        signed: vec![Part::Id, dot(), Part::Timestamp, dot(), Part::Body],
        stamp: Some(Stamp {
            unit: Unit::Seconds,
            tolerance,
        }),
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
    let key = Key::new(&secret.clone().into(), KeyForm::Whsec, Digest::Sha256)?;
    let seconds = at.as_seconds().to_string();
    let mac = key.sign(&[id.as_bytes(), b".", seconds.as_bytes(), b".", body]);
    Ok(format!("v1,{}", STANDARD.encode(mac)))
}

#[cfg(test)]
mod tests;
