//! Keys: who may ask, for what, and until when.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use crate::{ConsumerId, Created, Request, StoreError, Timestamp};

/// What a key may do. The API calls it a scope; here [`crate::Scope`] is what a
/// key may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Open attempts and inboxes, and say how they ended.
    Attempt,
    /// Read what has arrived, without any value.
    Feed,
    /// Consume: the one permission that gives out values.
    Consume,
    /// Make and revoke keys.
    Operator,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Attempt, Self::Feed, Self::Consume, Self::Operator];
    /// What a key may do for which nothing else was said.
    pub const DEFAULT: [Self; 3] = [Self::Attempt, Self::Feed, Self::Consume];

    /// The word the database, the API and the configuration use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Feed => "feed",
            Self::Consume => "consume",
            Self::Operator => "operator",
        }
    }

    /// What is behind a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|permission| permission.as_str() == word)
    }
}

/// A key that does not exist yet. Its token is not here: whoever mints it shows
/// it once, and only its hash is kept.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The part of the token by which its row is found.
    pub id: String,
    /// The consumer that it speaks for.
    pub name: ConsumerId,
    /// The SHA-256 of the whole token.
    pub hash: [u8; 32],
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// The inboxes it may see besides its own; `*` alone for all.
    pub inboxes: Vec<String>,
    /// For how long it is good; without end if nothing is said.
    pub expires_in: Option<Duration>,
    /// The request it is made by, if its sender has a word for that.
    pub asked: Option<Request>,
}

/// A key as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// The part of the token by which it is found.
    pub id: String,
    /// The consumer that it speaks for.
    pub name: ConsumerId,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// The inboxes it may see besides its own; `*` alone for all.
    pub inboxes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it is good.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the next few minutes.
    pub used_at: Option<Timestamp>,
    /// Whether its time is over.
    pub is_expired: bool,
}

impl KeyView {
    /// All words that [`Self::state`] has.
    pub const STATES: [&'static str; 3] = [Self::GOOD, Self::REVOKED, Self::EXPIRED];
    const GOOD: &'static str = "good";
    const REVOKED: &'static str = "revoked";
    const EXPIRED: &'static str = "expired";

    /// Whether it is `good`, `revoked` or `expired`, in a word.
    pub fn state(&self) -> &'static str {
        match (self.revoked_at, self.is_expired) {
            (Some(_), _) => Self::REVOKED,
            (None, true) => Self::EXPIRED,
            (None, false) => Self::GOOD,
        }
    }
}

/// A key that is good at this moment.
#[derive(Debug, Clone)]
pub struct LiveKey {
    /// What is known of it.
    pub view: KeyView,
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// For how much longer it is good, by the database's clock.
    pub expires_in: Option<Duration>,
    /// Whether its last use was noted so long ago that it may be noted again.
    pub use_is_stale: bool,
}

/// Keys in the database, for the feed and the operator.
#[async_trait]
pub trait KeyLog: Send + Sync {
    /// Makes a key; refused when a key of that name is neither revoked nor
    /// expired, for a name has one token at a time.
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError>;

    /// The key with this id, if it is neither revoked nor expired.
    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError>;

    /// Notes that a key was used.
    async fn key_used(&self, id: &str) -> Result<(), StoreError>;

    /// Every key, also those that are over, by name.
    async fn keys(&self) -> Result<Vec<KeyView>, StoreError>;

    /// Revokes the key of a name; `None` when there is none to revoke.
    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError>;
}
