//! One key, and the short name that rows store.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::{Key, KeyInit, XChaCha20Poly1305};
use pipeline::ServerKey;
use uuid::Uuid;

/// The name of a key. It is derived from the key, so a key has the same name in every
/// place, and reveals nothing about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    fn of(bytes: [u8; 32]) -> Self {
        let tag = ServerKey::new(bytes).tag(&[b"name of a sealing key"]);
        let hex = Uuid::from_bytes(tag).simple().to_string();
        Self(hex.chars().take(12).collect())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A key that seals and opens.
#[derive(Clone)]
pub struct SealKey {
    id: KeyId,
    // Its memory is overwritten when the last owner drops it.
    cipher: Arc<XChaCha20Poly1305>,
}

/// The text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sealing key is 32 bytes in base64")]
pub struct SealKeyError;

impl SealKey {
    /// The key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self {
            id: KeyId::of(bytes),
            cipher: Arc::new(XChaCha20Poly1305::new(&Key::from(bytes))),
        }
    }

    /// A new key, as text.
    pub fn mint() -> String {
        STANDARD.encode(rand::random::<[u8; 32]>())
    }

    /// Its name.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub(super) fn cipher(&self) -> &XChaCha20Poly1305 {
        &self.cipher
    }
}

impl FromStr for SealKey {
    type Err = SealKeyError;

    fn from_str(text: &str) -> Result<Self, SealKeyError> {
        let bytes = STANDARD.decode(text.trim()).or(Err(SealKeyError))?;
        let bytes: [u8; 32] = bytes.try_into().or(Err(SealKeyError))?;
        Ok(Self::new(bytes))
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_key_is_parsed_and_prints_only_its_name() {
        let text = SealKey::mint();
        let key: SealKey = text.parse().unwrap();
        assert_eq!(key.id(), text.parse::<SealKey>().unwrap().id());
        assert_eq!(key.id().as_str().len(), 12);
        assert_eq!(format!("{key:?}"), format!("SealKey({})", key.id()));
        assert_ne!(SealKey::mint(), text);
    }

    #[test]
    fn text_that_is_not_32_bytes_in_base64_is_refused() {
        for odd in ["", "x", "AAAA", &STANDARD.encode([0; 31])] {
            assert_eq!(odd.parse::<SealKey>().err(), Some(SealKeyError), "{odd:?}");
        }
    }
}
