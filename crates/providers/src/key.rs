//! The shared keys of a source: up to three at once, so that a secret can be
//! changed without refusing a single post.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use pipeline::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use crate::SecretSetting;

/// No source has more than this many live secrets.
const MOST: usize = 3;

/// A secret cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is none.
    #[error("a source needs at least one secret")]
    None,
    /// There are too many.
    #[error("a source has at most three secrets")]
    TooMany,
    /// It is not base64 with the standard alphabet and padding.
    #[error("a secret is `whsec_` and standard base64")]
    NotBase64,
    /// It is shorter or longer than a secret may be.
    #[error("a secret has 24 to 64 bytes")]
    Length,
    /// Its time ends before it begins.
    #[error("a secret's `not_after` lies before its `not_before`")]
    NeverLive,
}

/// How the configured text of a secret becomes the bytes of a key. A `whsec_`
/// in front does not tell: some providers take it as part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Base64 behind an optional `whsec_`.
    Whsec,
}

impl KeyForm {
    fn bytes(self, secret: &SecretString) -> Result<Vec<u8>, KeyError> {
        let text = secret.expose_secret();
        let bytes = match self {
            Self::Whsec => STANDARD
                .decode(text.strip_prefix("whsec_").unwrap_or(text))
                .ok()
                .ok_or(KeyError::NotBase64)?,
        };
        if (24..=64).contains(&bytes.len()) {
            Ok(bytes)
        } else {
            Err(KeyError::Length)
        }
    }
}

/// One key, ready to sign, and when it is live.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    mac: Hmac<Sha256>,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
}

impl Key {
    pub(crate) fn new(setting: &SecretSetting, form: KeyForm) -> Result<Self, KeyError> {
        if let (Some(from), Some(until)) = (setting.not_before, setting.not_after)
            && until < from
        {
            return Err(KeyError::NeverLive);
        }
        let bytes = form.bytes(&setting.secret)?;
        Ok(Self {
            mac: Hmac::new_from_slice(&bytes).ok().ok_or(KeyError::Length)?,
            not_before: setting.not_before,
            not_after: setting.not_after,
        })
    }

    /// The MAC of the parts, one after the other.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    fn is_live(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= now)
            && self.not_after.is_none_or(|until| now <= until)
    }
}

/// The live keys of a source.
#[derive(Debug, Clone)]
pub(crate) struct Keys(Vec<Key>);

impl Keys {
    pub(crate) fn new(settings: &[SecretSetting], form: KeyForm) -> Result<Self, KeyError> {
        match settings.len() {
            0 => Err(KeyError::None),
            1..=MOST => settings
                .iter()
                .map(|setting| Key::new(setting, form))
                .collect::<Result<_, _>>()
                .map(Self),
            _ => Err(KeyError::TooMany),
        }
    }

    /// Whether any of the `signatures` is the MAC of the parts under any live
    /// key. Every key is tried against every signature without an early exit,
    /// so that the time taken tells nothing about which came close.
    pub(crate) fn any_signed(
        &self,
        parts: &[&[u8]],
        signatures: &[Vec<u8>],
        now: Timestamp,
    ) -> bool {
        let mut matched = Choice::from(0);
        for key in self.0.iter().filter(|key| key.is_live(now)) {
            let expected = key.sign(parts);
            for signature in signatures {
                matched |= expected.ct_eq(signature);
            }
        }
        matched.into()
    }
}
