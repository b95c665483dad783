//! The answers of the feed. Fields that a newer server adds are ignored; kinds and
//! states that it adds are `Other`.

use secrecy::SecretString;
use serde::Deserialize;

/// Code, link or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A one-time code.
    Code,
    /// A link.
    Link,
    /// A message without either.
    Nothing,
    /// A kind that this client does not know.
    #[serde(other)]
    Other,
}

impl Kind {
    /// Its name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Nothing => "nothing",
            Self::Other => "other",
        }
    }
}

/// The state of an artifact when the server wrote the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It can be consumed.
    Available,
    /// It was consumed.
    Consumed,
    /// A newer one has replaced it.
    Superseded,
    /// It expired.
    Expired,
    /// It is withheld by policy.
    Withheld,
    /// The mail had no code and no link.
    Nothing,
    /// A state that this client does not know.
    #[serde(other)]
    Other,
}

/// One item of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Item {
    /// The artifact's id.
    pub id: String,
    /// Code, link or nothing.
    pub kind: Kind,
    /// Its state.
    pub state: State,
    /// Why it cannot be consumed.
    pub reason: Option<String>,
    /// The extractor's rule that decided.
    pub rule: String,
    /// The extractor's confidence, 0 to 100.
    pub confidence: u8,
    /// A link's host.
    pub host: Option<String>,
    /// The message that contained it.
    pub message: String,
    /// The attempt that it belongs to.
    pub attempt: Option<String>,
    /// The sender's address, if it is a plain one.
    pub sender: Option<String>,
    /// The sender's domain.
    pub sender_domain: Option<String>,
    /// Whether it is proven that the mail comes from that domain.
    #[serde(default)]
    pub sender_verified: bool,
    /// When the message was received, in RFC 3339.
    pub received_at: String,
    /// When it expires, in RFC 3339.
    pub expires_at: String,
    /// When it was consumed, in RFC 3339.
    pub consumed_at: Option<String>,
}

/// One page of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Page {
    /// The items, oldest first.
    pub items: Vec<Item>,
    /// The cursor of the next page.
    pub next_cursor: String,
}

/// A value that was disclosed to this consumer and to nobody else.
#[derive(Debug, Clone)]
pub struct Disclosed {
    /// The artifact's id.
    pub id: String,
    /// Code or link.
    pub kind: Kind,
    /// The code or the link itself.
    pub value: SecretString,
    /// Whether the sender of its mail is proven. An older server does not say.
    pub sender_verified: Option<bool>,
    /// What proves it, or why it is not proven.
    pub sender_proof: Option<String>,
    /// When it was consumed, in RFC 3339.
    pub consumed_at: String,
    /// Whether this is the repeated answer to an earlier request.
    pub is_replay: bool,
}

/// The outcome of a consume.
#[derive(Debug, Clone)]
pub enum Consumption {
    /// This consumer has it.
    Disclosed(Disclosed),
    /// It was consumed before.
    Already {
        /// When, in RFC 3339.
        at: Option<String>,
    },
    /// It is withheld by policy.
    Withheld {
        /// The reason.
        reason: Option<String>,
    },
    /// A newer one has replaced it.
    Superseded,
    /// It expired.
    Expired,
    /// It was deleted, or this key may not see it.
    Gone,
    /// The idempotency key was used for another artifact.
    KeyReused,
}

/// The body of a successful consume.
#[derive(Deserialize)]
pub(crate) struct Disclosure {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) value: SecretString,
    pub(crate) sender_verified: Option<bool>,
    pub(crate) sender_proof: Option<String>,
    pub(crate) consumed_at: String,
}
