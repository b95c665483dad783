//! Standard Webhooks 1.0.0, with its own header names or Svix's, and Maillatch's own
//! payload.
//!
//! Request: `webhook-id`, `webhook-timestamp`, `webhook-signature` (or all three as
//! `svix-*`), and the JSON body of `native.rs`. The signature is `v1,` and the base64 of
//! HMAC-SHA-256 over `{id}.{timestamp}.{body}`; there may be several, separated by spaces.
//! If `public_key` is set instead of `secrets`, it is `v1a,` and the base64 of an Ed25519
//! signature over the same bytes. The id stays the same in retries and is the key of the
//! delivery. Every attempt has a new timestamp, so a narrow window is right.
//!
//! Received: `timestamp` of Maillatch's own payload, if it is there. The signed time is that
//! of the attempt and says nothing about the mail.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | the specification: any status but 2xx is a failure |
//! | 401 | not proven or stale | retries, usually for about a day | the specification: any status but 2xx is a failure |
//! | 413 | too large | retries, usually for about a day | the specification: any status but 2xx is a failure |
//! | 503 | not stored | retries, usually for about a day | the specification: any status but 2xx is a failure |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add standard-webhooks` prints.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use secrecy::SecretString;

use super::native;
use crate::contract::answers::Answers;
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::symmetric::{Decoder, Symmetric};
use crate::contract::{Contract, Handshake, Posts, Provider, tolerance};
use crate::encoding::Encoding;
use crate::flaw::SourceFlaw;
use crate::proof::Coverage;
use crate::proof::freshness::Unit;
use crate::proof::identity::Identity;
use crate::proof::key::{Digest, Key, KeyError, KeyForm, Keys};
use crate::proof::scheme::{Family, Part, Scheme, Stamp};
use crate::proof::signature::Layout;
use crate::settings::{SecretSetting, Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "standard-webhooks",
    source_name: "standard-webhooks",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintSecret],
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Give it and the source's URL to the sender.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: TAKES,
    build: |settings| build(settings, Box::new(native::decode), Shape::native),
};

/// The settings that every provider of this scheme takes.
pub(super) const TAKES: &[Setting] = &[Setting::Secrets, Setting::PublicKey, Setting::Tolerance];

/// The same for a provider whose mail may have to be fetched or polled.
pub(super) const TAKES_WITH_API: &[Setting] = &[
    Setting::Secrets,
    Setting::PublicKey,
    Setting::Tolerance,
    Setting::Api,
    Setting::Poll,
];

/// A source of this scheme, with the provider's own payload.
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

impl SourceSettings {
    /// A Standard Webhooks source with these secrets.
    pub fn standard_webhooks(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        Self {
            provider: CONTRACT.name.to_owned(),
            secrets: secrets.into_iter().map(SecretSetting::from).collect(),
            ..Self::default()
        }
    }
}

/// Signs a post as a Standard Webhooks sender does. Returns the value of the
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
