//! The caller of a request: its name, its idempotency key, and what it may touch.

use std::fmt;
use std::str::FromStr;

use crate::InboxId;

/// A consumer: the name of the API key that the caller presented.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConsumerId(String);

/// The caller's idempotency key for one request; a retry repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text cannot be used as a consumer or an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 256 visible ASCII characters")]
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
    /// Whether this is the name under which a callback consumes: `callback:` and the
    /// callback's name. No API key may have such a name, or its holder could request
    /// the callback's value again.
    pub fn is_callback(&self) -> bool {
        self.0.starts_with("callback:")
    }
}

bounded_text!(IdempotencyKey);

/// The inboxes that a caller may touch. For all others it gets "not found".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every inbox.
    All,
    /// The caller's own inboxes and some others.
    Own {
        /// The owner whose inboxes count as the caller's own.
        owner: ConsumerId,
        /// The others.
        others: Vec<InboxId>,
    },
}

impl Scope {
    /// Whether the caller may change what this owner owns. Being allowed to read an
    /// inbox is not enough.
    pub fn owns(&self, owner: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Own { owner: own, .. } => owner == Some(own.as_str()),
        }
    }

    /// Whether an inbox of this owner is in the scope.
    pub fn covers(&self, inbox: &InboxId, owner: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Own { owner: own, others } => {
                owner == Some(own.as_str()) || others.contains(inbox)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idempotency_keys_must_be_visible_ascii_of_bounded_length() {
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
