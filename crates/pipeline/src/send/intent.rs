//! An intent: what an action is for. Two calls with the same intent are the same action,
//! by any caller and in any wording.

mod canonical;
mod recipient;

use std::fmt;

use super::action::{ActionName, SenderName};
use crate::ServerKey;

pub use canonical::CanonicalObject;
pub use recipient::{Recipient, RecipientError};

/// The purpose of an action: what it does, about what, to whom, and which edition of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Described {
        label: IntentLabel,
        to: Option<Recipient>,
    },
    Key(String),
}

/// The parts of an intent that name no person. The operator sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentLabel {
    /// What the action is, such as `order.confirmation`.
    pub kind: String,
    /// What it is about, such as `order_4821`.
    pub entity: String,
    /// Which edition of it. A higher number is another intent.
    pub version: u32,
}

/// A part of an intent has another form than it must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IntentError {
    /// The type of the intent.
    #[error("the type of an intent is 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`")]
    Kind,
    /// The entity of the intent.
    #[error("the entity of an intent is 1 to 128 letters, digits and `. _ : / + = ~ -`")]
    Entity,
    /// The version of the intent.
    #[error("the version of an intent is at least 1")]
    Version,
    /// The explicit key.
    #[error("the key of an intent is 1 to 256 visible ASCII characters")]
    Key,
}

impl Intent {
    /// An intent from its parts.
    pub fn new(label: IntentLabel, to: Option<Recipient>) -> Result<Self, IntentError> {
        if !is_kind(&label.kind) {
            return Err(IntentError::Kind);
        }
        if !is_entity(&label.entity) {
            return Err(IntentError::Entity);
        }
        if label.version == 0 {
            return Err(IntentError::Version);
        }
        let content = Content::Described { label, to };
        Ok(Self { content })
    }

    /// An intent that the caller names by a key of its own.
    pub fn from_key(key: &str) -> Result<Self, IntentError> {
        let fits = (1..=256).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
        let content = Content::Key(key.to_owned());
        fits.then_some(Self { content }).ok_or(IntentError::Key)
    }

    /// The parts that name no person; `None` for an intent with an explicit key.
    pub fn label(&self) -> Option<&IntentLabel> {
        match &self.content {
            Content::Described { label, .. } => Some(label),
            Content::Key(_) => None,
        }
    }

    /// To whom the action is addressed.
    pub fn to(&self) -> Option<&Recipient> {
        match &self.content {
            Content::Described { to, .. } => to.as_ref(),
            Content::Key(_) => None,
        }
    }

    /// SHA-256 of the canonical JSON of the intent.
    pub fn digest(&self) -> [u8; 32] {
        let object = CanonicalObject::new();
        let object = match &self.content {
            Content::Key(key) => object.text("key", key),
            Content::Described { label, to } => {
                let object = match to {
                    Some(to) => object.text("to", to.as_str()),
                    None => object,
                };
                object
                    .text("type", &label.kind)
                    .text("entity", &label.entity)
                    .integer("v", i64::from(label.version))
            }
        };
        object.digest()
    }
}

fn is_kind(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
}

/// No `@`: an entity is stored unsealed, so it must not be an address.
fn is_entity(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:/+=~-".contains(&b))
}

/// The key under which a provider recognises a repeated send. It cannot be guessed
/// without the server's secret, and it is the same after a restored backup.
///
/// It is stored with the row, so that a changed secret does not change old rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProviderKey([u8; 32]);

impl ProviderKey {
    /// The name of the tag that carries the key, where a provider has tags. The provider's
    /// events repeat it.
    pub const TAG: &str = "maillatch";
    /// The header of a mail that carries the key. Mail that comes back with it is our own.
    pub const HEADER: &str = "X-Maillatch-Send";

    /// The key of an action of a sender with this intent. Only the action `mail` shares
    /// its keys with sends: a payment and a mail with the same intent are two actions.
    pub fn derive(
        server: &ServerKey,
        action: &ActionName,
        sender: &SenderName,
        intent: &Intent,
    ) -> Self {
        let (sender, digest) = (sender.as_str().as_bytes(), intent.digest());
        Self(if *action == ActionName::mail() {
            server.long_tag(&[b"send-key/1", sender, &digest])
        } else {
            let action = action.as_str().as_bytes();
            server.long_tag(&[b"guard-key/1", action, sender, &digest])
        })
    }

    /// The key with these stored bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key with this text; `None` if it is not the text of a key.
    pub fn from_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("ml-")?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The bytes, as the database stores them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first half, which identifies the intent in the database.
    pub fn intent_key(&self) -> [u8; 16] {
        crate::digest::half(self.0)
    }

    /// The key as a UUID of version 8, for providers that take nothing else.
    pub fn as_uuid(&self) -> uuid::Uuid {
        uuid::Builder::from_custom_bytes(self.intent_key()).into_uuid()
    }

    /// The `Message-ID` of a mail with this key, in a domain of its sender, without the
    /// angle brackets.
    pub fn message_id(&self, domain: &str) -> String {
        format!("ml.{}@{domain}", hex(&self.intent_key()))
    }
}

/// `ml-` and 64 hexadecimal digits.
impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ml-{}", hex(&self.0))
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderKey(…)")
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests;
