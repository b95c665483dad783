//! A consume: the one use of an artifact.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use secrecy::SecretString;

use crate::{ArtifactId, ArtifactKind, InboxId, Reason, Timestamp};

/// Who consumes: the name of the key that the caller presented.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConsumerId(String);

/// The caller's own word for one request; a retry repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text cannot be used as a consumer or an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("1 to 256 visible ASCII characters are needed")]
pub struct BoundedTextError;

macro_rules! bounded_text {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BoundedTextError;

            fn from_str(text: &str) -> Result<Self, BoundedTextError> {
                let fits =
                    (1..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
                fits.then(|| Self(text.to_owned())).ok_or(BoundedTextError)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

bounded_text!(ConsumerId);

impl ConsumerId {
    /// Whether it is the name under which a callback consumes: `callback:` and the
    /// callback's own. No key may have it, or its holder could ask for the value
    /// again in the callback's place.
    pub fn is_callback(&self) -> bool {
        self.0.starts_with("callback:")
    }
}

bounded_text!(IdempotencyKey);

/// Which inboxes a caller may touch; anything else does not exist for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every inbox.
    All,
    /// The caller's own inboxes, and these.
    Own {
        /// Whose inboxes count as its own.
        owner: ConsumerId,
        /// The others.
        others: Vec<InboxId>,
    },
}

impl Scope {
    /// Whether the caller may end what this owner has: seeing an inbox is not enough.
    pub fn owns(&self, owner: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Own { owner: own, .. } => owner == Some(own.as_str()),
        }
    }

    /// Whether the inbox lies in this scope, given who owns it.
    pub fn covers(&self, inbox: &InboxId, owner: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Own { owner: own, others } => {
                owner == Some(own.as_str()) || others.contains(inbox)
            }
        }
    }
}

/// A request to use an artifact.
#[derive(Debug, Clone)]
pub struct ConsumeRequest {
    /// Which artifact.
    pub artifact: ArtifactId,
    /// Who asks.
    pub consumer: ConsumerId,
    /// What the asker may see.
    pub scope: Scope,
    /// The asker's word for this request.
    pub idempotency_key: IdempotencyKey,
    /// For how long the same request gets the same answer.
    pub replay_window: Duration,
}

/// What came of a [`ConsumeRequest`]. The value is in the answer only when the
/// consume row is committed, and only for the one consumer it names.
#[derive(Debug, Clone)]
pub enum Consumed {
    /// This request consumed it.
    First {
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// When, by the database's clock.
        at: Timestamp,
    },
    /// The same consumer asked again with the same key; the same answer.
    Replayed {
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// When it was consumed.
        at: Timestamp,
    },
    /// Somebody else has it, or the replay window is over.
    Already {
        /// When it was consumed.
        at: Timestamp,
    },
    /// The idempotency key was used for another artifact.
    KeyReused,
    /// It is kept back; it never had a value to give.
    Withheld(Reason),
    /// A newer one has taken its place.
    Superseded,
    /// Its time is over.
    Expired {
        /// When it ended.
        at: Timestamp,
    },
    /// There is no such artifact in the caller's scope.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bounded_and_visible() {
        assert!("k1".parse::<IdempotencyKey>().is_ok());
        assert!("k".repeat(256).parse::<IdempotencyKey>().is_ok());
        for bad in ["", " ", "a b", "a\n", "é", &"k".repeat(257)] {
            assert_eq!(
                bad.parse::<IdempotencyKey>(),
                Err(BoundedTextError),
                "{bad:?}"
            );
        }
    }
}
