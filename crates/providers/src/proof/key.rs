//! The keys of a source: up to three secrets at once, so that a secret can be rotated
//! without refusing a post.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use ring::hmac;
use ring::signature::{ED25519, UnparsedPublicKey};
use secrecy::{ExposeSecret, SecretString};
use subtle::{Choice, ConstantTimeEq};

use crate::settings::SecretSetting;

/// The most secrets of a source.
const MOST: usize = 3;

/// A secret cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is none.
    #[error("a source of this provider needs at least one secret")]
    None,
    /// There are too many.
    #[error("a source has at most three secrets")]
    TooMany,
    /// It is not base64 with the standard alphabet and padding.
    #[error("a secret of this provider is `whsec_` and standard base64")]
    NotBase64,
    /// It is shorter or longer than a secret may be.
    #[error("a secret of this provider has {0} to {1} bytes")]
    Length(usize, usize),
    /// It ends before it begins.
    #[error("a secret's `not_after` lies before its `not_before`")]
    NeverValid,
}

/// How the configured text of a secret becomes the bytes of a key. A `whsec_` prefix
/// does not decide it: for some providers the prefix is part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Base64 after an optional `whsec_`.
    Whsec,
    /// The text itself. The provider or a person chose it, so only a text that is far
    /// too short or too long is refused.
    Literal,
}

impl KeyForm {
    fn bytes(self, secret: &SecretString) -> Result<Vec<u8>, KeyError> {
        let text = secret.expose_secret();
        let (bytes, least, most) = match self {
            Self::Whsec => {
                let encoded = text.strip_prefix("whsec_").unwrap_or(text);
                let bytes = STANDARD.decode(encoded);
                (bytes.ok().ok_or(KeyError::NotBase64)?, 24, 64)
            }
            Self::Literal => (text.as_bytes().to_vec(), 8, 256),
        };
        if (least..=most).contains(&bytes.len()) {
            Ok(bytes)
        } else {
            Err(KeyError::Length(least, most))
        }
    }
}

/// The hash inside a MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digest {
    Sha256,
    /// SHA-1 is broken as a hash and still safe inside HMAC; Mandrill and some older
    /// senders use it.
    Sha1,
    Sha512,
}

impl Digest {
    /// A post's signature is most of the processor time of a post where the processor has no
    /// instructions for SHA-256; ring takes half the time of the `hmac` crate there.
    fn algorithm(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }
}

/// One key and when it is valid.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    hmac: hmac::Key,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
}

impl Key {
    pub(crate) fn new(
        setting: &SecretSetting,
        form: KeyForm,
        digest: Digest,
    ) -> Result<Self, KeyError> {
        if let (Some(from), Some(until)) = (setting.not_before, setting.not_after)
            && until < from
        {
            return Err(KeyError::NeverValid);
        }
        let bytes = form.bytes(&setting.secret)?;
        Ok(Self {
            hmac: hmac::Key::new(digest.algorithm(), &bytes),
            not_before: setting.not_before,
            not_after: setting.not_after,
        })
    }

    /// The MAC of the concatenated parts.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> hmac::Tag {
        let mut mac = hmac::Context::with_key(&self.hmac);
        for part in parts {
            mac.update(part);
        }
        mac.sign()
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|from| from <= now)
            && self.not_after.is_none_or(|until| now <= until)
    }
}

/// The keys of a source.
#[derive(Debug, Clone)]
pub(crate) enum Keys {
    /// Secrets that we share with the sender.
    Shared(Vec<Key>),
    /// The sender's Ed25519 public key.
    Ed25519(UnparsedPublicKey<Vec<u8>>),
}

impl Keys {
    pub(crate) fn new(
        settings: &[SecretSetting],
        form: KeyForm,
        digest: Digest,
    ) -> Result<Self, KeyError> {
        match settings.len() {
            0 => Err(KeyError::None),
            1..=MOST => settings
                .iter()
                .map(|setting| Key::new(setting, form, digest))
                .collect::<Result<_, _>>()
                .map(Self::Shared),
            _ => Err(KeyError::TooMany),
        }
    }

    /// A public key, written as `whpk_` and base64.
    pub(crate) fn ed25519(text: &str) -> Option<Self> {
        let point = STANDARD.decode(text.trim().strip_prefix("whpk_")?).ok()?;
        (point.len() == 32).then(|| Self::Ed25519(UnparsedPublicKey::new(&ED25519, point)))
    }

    /// The MAC of the parts with the first secret; `None` if only the sender can sign.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> Option<hmac::Tag> {
        match self {
            Self::Shared(keys) => keys.first().map(|key| key.sign(parts)),
            Self::Ed25519(_) => None,
        }
    }

    /// Whether any of the `signatures` was made over the parts with any valid key.
    /// Every shared key is compared with every signature, without an early exit, so
    /// that timing does not reveal a partial match.
    pub(crate) fn any_signed(
        &self,
        parts: &[&[u8]],
        signatures: &[Vec<u8>],
        now: Timestamp,
    ) -> bool {
        let keys = match self {
            Self::Shared(keys) => keys,
            Self::Ed25519(key) => {
                let signed = parts.concat();
                return signatures
                    .iter()
                    .any(|signature| key.verify(&signed, signature).is_ok());
            }
        };
        let mut matched = Choice::from(0);
        for key in keys.iter().filter(|key| key.is_valid(now)) {
            let expected = key.sign(parts);
            for signature in signatures {
                matched |= expected.as_ref().ct_eq(signature);
            }
        }
        matched.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: &[u8], digest: Digest) -> Key {
        Key {
            hmac: hmac::Key::new(digest.algorithm(), secret),
            not_before: None,
            not_after: None,
        }
    }

    fn hex(secret: &[u8], parts: &[&[u8]]) -> String {
        let mac = key(secret, Digest::Sha256).sign(parts);
        let bytes = mac.as_ref().iter();
        bytes.fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }

    #[test]
    fn hook0_test_vectors_match() {
        assert_eq!(
            hex(b"secret", &[b"1636936200", b".", b"hello !"]),
            "1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98"
        );
        assert_eq!(
            hex(
                b"secret",
                &[b"1636936200.x-test x-test2.val1.val2.", b"hello !"]
            ),
            "493c35f05443fdb74cb99fd4f00e0e7653c2ab6b24fbc97f4a7bd4d56b31758a"
        );
    }

    #[test]
    fn mac_of_bodies_of_all_lengths_equals_that_of_another_library() {
        use ::hmac::{Hmac, KeyInit, Mac};
        use sha2::Sha256;

        for length in 0..300 {
            let body: Vec<u8> = (0..=250).cycle().take(length).collect();
            let mut other = Hmac::<Sha256>::new_from_slice(b"secret").expect("a key");
            other.update(b"id.");
            other.update(&body);
            let ours = key(b"secret", Digest::Sha256).sign(&[b"id.", &body]);
            assert_eq!(ours.as_ref(), other.finalize().into_bytes().as_slice());
        }
    }

    #[test]
    fn too_short_secret_is_refused() {
        for (text, form) in [
            ("", KeyForm::Literal),
            ("short", KeyForm::Literal),
            ("", KeyForm::Whsec),
            ("whsec_", KeyForm::Whsec),
        ] {
            let setting = SecretString::from(text).into();
            let key = Key::new(&setting, form, Digest::Sha256);
            assert!(matches!(key, Err(KeyError::Length(..))), "{text:?}");
        }
    }
}
