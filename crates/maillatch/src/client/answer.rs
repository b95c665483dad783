//! What the feed answers, as far as a client reads it. Fields that a newer
//! server adds are ignored; words it adds are `Other`.

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
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Nothing => "nothing",
            Self::Other => "other",
        }
    }
}

/// How an artifact stood when the page was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It can be consumed.
    Available,
    /// It was consumed.
    Consumed,
    /// A newer one has taken its place.
    Superseded,
    /// Its time ended.
    Expired,
    /// It is kept back.
    Withheld,
    /// There was nothing to give.
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
    /// How it stands.
    pub state: State,
    /// Why it is not usable.
    pub reason: Option<String>,
    /// The rule that decided.
    pub rule: String,
    /// How sure the extractor is, 0 to 100.
    pub confidence: u8,
    /// A link's host.
    pub host: Option<String>,
    /// The message it came in.
    pub message: String,
    /// The attempt it is for.
    pub attempt: Option<String>,
    /// The sender's address, if it is a plain one.
    pub sender: Option<String>,
    /// The sender's domain.
    pub sender_domain: Option<String>,
    /// Whether it is proven that the mail comes from there.
    #[serde(default)]
    pub sender_verified: bool,
    /// When the message was received, as RFC 3339 has it.
    pub received_at: String,
    /// From when on it cannot be consumed, as RFC 3339 has it.
    pub expires_at: String,
    /// When it was consumed, as RFC 3339 has it.
    pub consumed_at: Option<String>,
}

/// One page of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Page {
    /// The items, oldest first.
    pub items: Vec<Item>,
    /// Where the next page begins.
    pub next_cursor: String,
}

/// A value that was given out, to this consumer alone.
#[derive(Debug, Clone)]
pub struct Disclosed {
    /// The artifact's id.
    pub id: String,
    /// Code or link.
    pub kind: Kind,
    /// The code or the link itself.
    pub value: SecretString,
    /// When it was consumed, as RFC 3339 has it.
    pub consumed_at: String,
    /// Whether this repeats an earlier answer to the same request.
    pub is_replay: bool,
}

/// What came of asking to consume.
#[derive(Debug, Clone)]
pub enum Consumption {
    /// It is ours.
    Disclosed(Disclosed),
    /// It was consumed before, then.
    Already {
        /// As RFC 3339 has it.
        at: Option<String>,
    },
    /// It is kept back.
    Withheld {
        /// The rule that decided.
        reason: Option<String>,
    },
    /// A newer one has taken its place.
    Superseded,
    /// Its time is over.
    Expired,
    /// It is not there any more, or not for this key.
    Gone,
    /// The idempotency key was used for another artifact.
    KeyReused,
}

/// The body of a consume that went through.
#[derive(Deserialize)]
pub(super) struct Disclosure {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) value: SecretString,
    pub(super) consumed_at: String,
}
