//! Sealing: mail bodies, and the codes and links found in them, are stored encrypted.
//!
//! A sealed value is a layout byte, a random nonce and the XChaCha20-Poly1305
//! ciphertext with its tag. The layout says whether the value was packed before
//! (`pack.rs`), and decoded before that (`base64_string.rs`). The associated data name
//! the row it was made for, so a value that is moved to another row, inbox or table no
//! longer opens. The key's name is in a column of its own.

mod base64_string;
mod file;
mod key;
mod pack;
mod ring;

use chacha20poly1305::aead::{Aead, AeadInOut, Payload};
use chacha20poly1305::{Tag, XNonce};
use pipeline::{ArtifactId, DeliveryId, MessageId, NewMessage, SendId, UnsealError};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::fault::Fault;

pub use file::{KeyFile, KeyFileError};
pub use key::{KeyId, SealKey};
pub use ring::Keyring;

/// The value as it is.
const PLAIN: u8 = 1;
/// The value packed.
const PACKED: u8 = 2;
/// The value with its base64 decoded, and then packed.
const DECODED: u8 = 3;
const NONCE: usize = 24;
const TAG: usize = 16;

/// How many bytes a sealed value is longer than what was sealed.
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
    /// Whether the value is the body of a delivery.
    is_body: bool,
}

impl<'a> Row<'a> {
    /// The row of a delivery from this source.
    pub(crate) fn delivery(id: DeliveryId, source: &'a str) -> Self {
        Self {
            table: "deliveries",
            id: id.as_uuid(),
            owner: source,
            is_body: true,
        }
    }

    /// The row of an artifact in this inbox.
    pub(crate) fn artifact(id: ArtifactId, inbox: &'a str) -> Self {
        Self {
            table: "artifacts",
            id: id.as_uuid(),
            owner: inbox,
            is_body: false,
        }
    }

    /// What a reply to a message in this inbox repeats.
    pub(crate) fn handling(id: MessageId, inbox: &'a str) -> Self {
        Self {
            table: "handlings",
            id: id.as_uuid(),
            owner: inbox,
            is_body: false,
        }
    }

    /// The row of a send by this sender.
    pub(crate) fn send(id: SendId, sender: &'a str) -> Self {
        Self {
            table: "sends",
            id: id.as_uuid(),
            owner: sender,
            is_body: false,
        }
    }

    /// The associated data of a value. Each field is preceded by its length, so that no
    /// two rows have the same bytes.
    fn associated(&self, layout: u8, key: &KeyId) -> Vec<u8> {
        let fields: [&[u8]; 5] = [
            &[layout],
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
    /// Seals a value for a row. A body is packed before, if that makes it shorter.
    pub(crate) fn seal(&self, row: Row<'_>, plain: &[u8]) -> Result<Sealed, Fault> {
        let packed = row.is_body.then(|| packed(plain)).flatten();
        let (layout, value) = match &packed {
            Some((layout, packed)) => (*layout, packed.as_slice()),
            None => (PLAIN, plain),
        };
        let nonce: [u8; NONCE] = rand::random();
        let mut bytes = Vec::with_capacity(1 + NONCE + value.len() + TAG);
        bytes.push(layout);
        bytes.extend(nonce);
        bytes.extend(value);
        let tag = self.encrypt(row, &nonce, &mut bytes);
        bytes.extend(tag.ok_or(Fault::Damaged(row.table))?);
        Ok(Sealed {
            key: self.id().clone(),
            bytes,
        })
    }

    /// Encrypts what follows the layout and the nonce.
    fn encrypt(&self, row: Row<'_>, nonce: &[u8; NONCE], bytes: &mut [u8]) -> Option<Tag> {
        let (&mut layout, rest) = bytes.split_first_mut()?;
        let (_nonce, value) = rest.split_first_chunk_mut::<NONCE>()?;
        let associated = row.associated(layout, self.id());
        let cipher = self.cipher();
        let tag = cipher.encrypt_inout_detached(&XNonce::from(*nonce), &associated, value.into());
        tag.ok()
    }

    fn open(&self, row: Row<'_>, sealed: &[u8]) -> Result<Vec<u8>, Fault> {
        let damaged = || Fault::Damaged(row.table);
        let (&layout, rest) = sealed.split_first().ok_or_else(damaged)?;
        let (&nonce, rest) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        let payload = Payload {
            msg: rest,
            aad: &row.associated(layout, self.id()),
        };
        let opened = self.cipher().decrypt(&XNonce::from(nonce), payload);
        let opened = opened.map_err(|_opaque| damaged())?;
        match layout {
            PLAIN => Ok(opened),
            PACKED => pack::unpack(&opened).ok_or_else(damaged),
            DECODED => pack::unpack(&opened)
                .and_then(|decoded| base64_string::encode(&decoded))
                .ok_or_else(damaged),
            _ => Err(damaged()),
        }
    }
}

/// A body packed, and its layout; `None` if that would not make it shorter.
fn packed(body: &[u8]) -> Option<(u8, Vec<u8>)> {
    if !pack::fits(body) {
        return None;
    }
    match base64_string::decode(body) {
        Some(decoded) => Some((DECODED, pack::pack(&decoded, body.len())?)),
        None => Some((PACKED, pack::pack(body, body.len())?)),
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
mod tests;
