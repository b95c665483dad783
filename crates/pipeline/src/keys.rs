//! API keys: whom they belong to, what they allow, and until when.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use crate::{ConsumerId, Created, Request, StoreError, Timestamp};

/// What a key allows. The API calls this a scope; in the code [`crate::Scope`] is the set
/// of inboxes that a caller may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Open and finish attempts and inboxes.
    Attempt,
    /// Read what has arrived, without values.
    Feed,
    /// Consume: the only permission that gives out values.
    Consume,
    /// Create and revoke keys.
    Operator,
    /// Send mail by a configured sender, and see the state of sends.
    Send,
    /// Claim an intent before an action outside of Maillatch.
    Guard,
    /// Answer messages by a template.
    Reply,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 7] = [
        Self::Attempt,
        Self::Feed,
        Self::Consume,
        Self::Operator,
        Self::Send,
        Self::Guard,
        Self::Reply,
    ];
    /// The permissions of a key that names none.
    pub const DEFAULT: [Self; 3] = [Self::Attempt, Self::Feed, Self::Consume];

    /// The word used in the database, the API and the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Feed => "feed",
            Self::Consume => "consume",
            Self::Operator => "operator",
            Self::Send => "send",
            Self::Guard => "guard",
            Self::Reply => "reply",
        }
    }

    /// The permission with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|permission| permission.as_str() == word)
    }
}

/// A key that is not created yet. It does not contain the token: the token is shown once
/// to whoever creates the key, and only its hash is stored.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The part of the token that identifies its row.
    pub id: String,
    /// The consumer that it belongs to.
    pub name: ConsumerId,
    /// The SHA-256 of the whole token.
    pub hash: [u8; 32],
    /// What it allows.
    pub permissions: Vec<Permission>,
    /// The inboxes it may touch besides its own; `*` alone means all.
    pub inboxes: Vec<String>,
    /// For how long it is valid. `None`: without end.
    pub expires_in: Option<Duration>,
    /// The request that creates it, if it has an idempotency key.
    pub asked: Option<Request>,
}

/// A key, as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// The part of the token that identifies it.
    pub id: String,
    /// The consumer that it belongs to.
    pub name: ConsumerId,
    /// What it allows.
    pub permissions: Vec<Permission>,
    /// The inboxes it may touch besides its own; `*` alone means all.
    pub inboxes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, with a precision of a few minutes.
    pub used_at: Option<Timestamp>,
    /// Whether it has expired.
    pub is_expired: bool,
}

impl KeyView {
    /// All words that [`Self::state`] returns.
    pub const STATES: [&'static str; 3] = [Self::GOOD, Self::REVOKED, Self::EXPIRED];
    const GOOD: &'static str = "good";
    const REVOKED: &'static str = "revoked";
    const EXPIRED: &'static str = "expired";

    /// Its state: `good`, `revoked` or `expired`.
    pub fn state(&self) -> &'static str {
        match (self.revoked_at, self.is_expired) {
            (Some(_), _) => Self::REVOKED,
            (None, true) => Self::EXPIRED,
            (None, false) => Self::GOOD,
        }
    }
}

/// A key that is valid now.
#[derive(Debug, Clone)]
pub struct LiveKey {
    /// The key.
    pub view: KeyView,
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// How long it remains valid, by the database's clock.
    pub expires_in: Option<Duration>,
    /// Whether its last use was recorded so long ago that it should be recorded again.
    pub use_is_stale: bool,
}

/// Keys in the database: for the feed and the operator.
#[async_trait]
pub trait KeyLog: Send + Sync {
    /// Creates a key. Refused while a key of that name is neither revoked nor expired:
    /// a name has one valid token at a time.
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError>;

    /// The key with this id, if it is neither revoked nor expired.
    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError>;

    /// Records that a key was used.
    async fn key_used(&self, id: &str) -> Result<(), StoreError>;

    /// All keys, including revoked and expired ones, ordered by name.
    async fn keys(&self) -> Result<Vec<KeyView>, StoreError>;

    /// Revokes the key of this name. `None` when there is none to revoke.
    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError>;
}
