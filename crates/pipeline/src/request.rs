//! A request that may come twice, and how the second is known for what it is.

use crate::{ConsumerId, IdempotencyKey};

/// What a request makes or ends. A key is its sender's word for one request of a
/// kind, so the same key for an inbox and for an attempt are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Opens an attempt.
    Attempt,
    /// Finishes one.
    Finish,
    /// Makes an inbox.
    Inbox,
    /// Gives one a new address.
    Rotate,
    /// Makes a key.
    Key,
}

impl RequestKind {
    /// The word the databases use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Finish => "finish",
            Self::Inbox => "inbox",
            Self::Rotate => "rotate",
            Self::Key => "key",
        }
    }
}

/// A request that its sender has a word for. It is noted in the transaction that
/// does what it asks for, under a unique key, so a retry finds what was made, also
/// one that comes at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub consumer: ConsumerId,
    /// What for.
    pub kind: RequestKind,
    /// The asker's word for it.
    pub key: IdempotencyKey,
    /// What was said, so that one word for two requests is noticed.
    pub tag: [u8; 16],
}

/// What came of a request to make something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created<T> {
    /// It is made.
    New(T),
    /// The same request has made it before.
    Known(T),
    /// Nothing is made: the address or the name is taken, or what it was to be made
    /// of is not there.
    Refused,
    /// The idempotency key was used for another request.
    KeyReused,
}

impl<T> Created<T> {
    /// What was made just now.
    pub fn fresh(self) -> Option<T> {
        match self {
            Self::New(made) => Some(made),
            Self::Known(_) | Self::Refused | Self::KeyReused => None,
        }
    }
}
