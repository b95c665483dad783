//! Sealing: mail bodies, and the codes and links found in them, are stored encrypted.
//!
//! A sealed value is a layout byte, a random nonce and the XChaCha20-Poly1305
//! ciphertext. The associated data name the row it was made for, so a value that is
//! moved to another row, inbox or table no longer opens. The key's name is in a column
//! of its own.

mod file;
mod key;
mod ring;

use chacha20poly1305::XNonce;
use chacha20poly1305::aead::{Aead, Payload};
use pipeline::{ArtifactId, DeliveryId, MessageId, NewMessage, SendId, UnsealError};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::fault::Fault;

pub use file::{KeyFile, KeyFileError};
pub use key::{KeyId, SealKey};
pub use ring::Keyring;

const LAYOUT: u8 = 1;
const NONCE: usize = 24;
const TAG: usize = 16;

/// How many bytes a sealed value is longer than the plain one.
pub(crate) const OVERHEAD: u64 = (1 + NONCE + TAG) as u64;

/// A sealed value, and the name of the key that opens it.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) key: KeyId,
    pub(crate) bytes: Vec<u8>,
}

/// A message, the sealed values of its artifacts in their order, and what a reply to it
/// repeats.
pub(crate) struct SealedMessage {
    pub(crate) message: NewMessage,
    pub(crate) values: Vec<Option<Sealed>>,
    pub(crate) context: Option<Sealed>,
}

impl SealedMessage {
    /// Seals the values of messages.
    pub(crate) fn seal(messages: Vec<NewMessage>, keyring: &Keyring) -> Result<Vec<Self>, Fault> {
        let key = keyring.sealing();
        let seal_one = |message: NewMessage| {
            let values = message.artifacts.iter().map(|artifact| {
                let row = Row::artifact(artifact.id, message.inbox.as_str());
                let value = artifact.value.as_ref().map(ExposeSecret::expose_secret);
                value
                    .map(|value| key.seal(row, value.as_bytes()))
                    .transpose()
            });
            let values = values.collect::<Result<_, _>>()?;
            let context = message.handling.context.as_ref().map(|context| {
                let plain = serde_json::to_vec(context).or(Err(Fault::Damaged("handlings")))?;
                key.seal(Row::handling(message.id, message.inbox.as_str()), &plain)
            });
            Ok(Self {
                context: context.transpose()?,
                message,
                values,
            })
        };
        messages.into_iter().map(seal_one).collect()
    }
}

/// The row that a value belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    table: &'static str,
    id: Uuid,
    owner: &'a str,
}

impl<'a> Row<'a> {
    /// The row of a delivery from this source.
    pub(crate) fn delivery(id: DeliveryId, source: &'a str) -> Self {
        Self {
            table: "deliveries",
            id: id.as_uuid(),
            owner: source,
        }
    }

    /// The row of an artifact in this inbox.
    pub(crate) fn artifact(id: ArtifactId, inbox: &'a str) -> Self {
        Self {
            table: "artifacts",
            id: id.as_uuid(),
            owner: inbox,
        }
    }

    /// What a reply to a message in this inbox repeats.
    pub(crate) fn handling(id: MessageId, inbox: &'a str) -> Self {
        Self {
            table: "handlings",
            id: id.as_uuid(),
            owner: inbox,
        }
    }

    /// The row of a send by this sender.
    pub(crate) fn send(id: SendId, sender: &'a str) -> Self {
        Self {
            table: "sends",
            id: id.as_uuid(),
            owner: sender,
        }
    }

    /// The associated data of a value. Each field is preceded by its length, so that no
    /// two rows have the same bytes.
    fn associated(&self, key: &KeyId) -> Vec<u8> {
        let fields: [&[u8]; 5] = [
            &[LAYOUT],
            self.table.as_bytes(),
            self.id.as_bytes(),
            self.owner.as_bytes(),
            key.as_str().as_bytes(),
        ];
        let mut bytes = Vec::with_capacity(96);
        for field in fields {
            bytes.extend((field.len() as u64).to_be_bytes());
            bytes.extend(field);
        }
        bytes
    }
}

impl SealKey {
    /// Seals a value for a row.
    pub(crate) fn seal(&self, row: Row<'_>, plain: &[u8]) -> Result<Sealed, Fault> {
        let nonce: [u8; NONCE] = rand::random();
        let payload = Payload {
            msg: plain,
            aad: &row.associated(self.id()),
        };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_opaque| Fault::Damaged(row.table))?;
        Ok(Sealed {
            key: self.id().clone(),
            bytes: [&[LAYOUT][..], &nonce, &sealed].concat(),
        })
    }

    fn open(&self, row: Row<'_>, sealed: &[u8]) -> Result<Vec<u8>, Fault> {
        let damaged = || Fault::Damaged(row.table);
        let (&layout, rest) = sealed.split_first().ok_or_else(damaged)?;
        let (&nonce, rest) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        if layout != LAYOUT {
            return Err(damaged());
        }
        let payload = Payload {
            msg: rest,
            aad: &row.associated(self.id()),
        };
        self.cipher()
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_opaque| damaged())
    }
}

impl Keyring {
    /// Opens a value that was sealed for a row, under any of the keys.
    pub(crate) fn open(&self, row: Row<'_>, key: &str, sealed: &[u8]) -> Result<Vec<u8>, Fault> {
        let key = self
            .opening(key)
            .ok_or_else(|| Fault::KeyUnknown(key.to_owned()))?;
        key.open(row, sealed)
    }

    /// Opens a delivery's body, or returns why it does not open.
    pub(crate) fn open_body(
        &self,
        row: Row<'_>,
        key: &str,
        sealed: &[u8],
    ) -> Result<Result<Vec<u8>, UnsealError>, Fault> {
        match self.open(row, key, sealed) {
            Ok(body) => Ok(Ok(body)),
            Err(Fault::KeyUnknown(key)) => {
                tracing::warn!(
                    key.id = key,
                    "a body is sealed under a key that this process does not have"
                );
                Ok(Err(UnsealError::KeyUnknown))
            }
            Err(Fault::Damaged(_)) => Ok(Err(UnsealError::Damaged)),
            Err(other) => Err(other),
        }
    }

    /// Opens a value that is text.
    pub(crate) fn open_text(
        &self,
        row: Row<'_>,
        key: &str,
        sealed: &[u8],
    ) -> Result<SecretString, Fault> {
        let text = String::from_utf8(self.open(row, key, sealed)?);
        text.map(SecretString::from)
            .map_err(|_not_text| Fault::Damaged(row.table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(keys: &[u8]) -> Keyring {
        let keys = keys.iter().map(|byte| SealKey::new([*byte; 32])).collect();
        Keyring::of(keys).unwrap()
    }

    fn sealed_by(ring: &Keyring, row: Row<'_>) -> Sealed {
        ring.sealing().seal(row, b"493817").unwrap()
    }

    #[test]
    fn a_sealed_value_opens_and_does_not_contain_the_plain_one() {
        let ring = ring(&[7]);
        let row = Row::delivery(DeliveryId::new(), "dev");
        let sealed = sealed_by(&ring, row);
        assert_eq!(sealed.bytes.len() as u64, 6 + OVERHEAD);
        assert!(!sealed.bytes.windows(6).any(|six| six == b"493817"));
        let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes).unwrap();
        assert_eq!(opened, b"493817");
        assert_ne!(sealed_by(&ring, row).bytes, sealed.bytes);
    }

    #[test]
    fn a_value_opens_only_in_its_own_row() {
        let ring = ring(&[7]);
        let (id, other) = (Uuid::new_v4(), Uuid::new_v4());
        let delivery = |id, source| Row::delivery(DeliveryId::from_uuid(id), source);
        let sealed = sealed_by(&ring, delivery(id, "a"));
        let wrong = [
            delivery(other, "a"),
            delivery(id, "b"),
            Row::artifact(ArtifactId::from_uuid(id), "a"),
        ];
        for row in wrong {
            let opened = ring.open(row, sealed.key.as_str(), &sealed.bytes);
            assert!(matches!(opened, Err(Fault::Damaged(_))), "{row:?}");
        }
    }

    #[test]
    fn rows_with_equal_joined_fields_have_different_associated_data() {
        let key = SealKey::new([7; 32]);
        let row = |table, owner| Row {
            table,
            id: Uuid::nil(),
            owner,
        };
        let one = row("a", "bc").associated(key.id());
        assert_ne!(one, row("ab", "c").associated(key.id()));
    }

    #[test]
    fn a_changed_bit_or_a_missing_byte_does_not_open() {
        let ring = ring(&[7]);
        let row = Row::delivery(DeliveryId::new(), "dev");
        let sealed = sealed_by(&ring, row);
        for bit in 0..sealed.bytes.len() * 8 {
            let mut forged = sealed.bytes.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(ring.open(row, sealed.key.as_str(), &forged).is_err());
        }
        for length in 0..sealed.bytes.len() {
            let cut = &sealed.bytes[..length];
            assert!(ring.open(row, sealed.key.as_str(), cut).is_err());
        }
    }

    #[test]
    fn value_is_not_opened_by_another_key_whatever_its_name() {
        let row = Row::delivery(DeliveryId::new(), "dev");
        let sealed = sealed_by(&ring(&[7]), row);
        let other = ring(&[8]);
        let unknown = other.open(row, sealed.key.as_str(), &sealed.bytes);
        assert!(matches!(unknown, Err(Fault::KeyUnknown(_))));
        let misnamed = other.open(row, other.sealing().id().as_str(), &sealed.bytes);
        assert!(matches!(misnamed, Err(Fault::Damaged(_))));
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let row = Row::delivery(DeliveryId::new(), "dev");
        let before = sealed_by(&ring(&[1]), row);
        let both = ring(&[2, 1]);
        let after = sealed_by(&both, row);
        assert_ne!(before.key, after.key);
        for sealed in [before, after] {
            let opened = both.open(row, sealed.key.as_str(), &sealed.bytes);
            assert_eq!(opened.unwrap(), b"493817");
        }
    }
}
