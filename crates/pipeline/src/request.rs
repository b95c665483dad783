//! A request with an idempotency key: a retry is recognised and gets the same answer.

use crate::{ConsumerId, IdempotencyKey};

/// What a request does. Idempotency keys are separate for each kind: the same key for an
/// inbox and for an attempt names two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Opens an attempt.
    Attempt,
    /// Finishes an attempt.
    Finish,
    /// Creates an inbox.
    Inbox,
    /// Gives an inbox a new address.
    Rotate,
    /// Creates an API key.
    Key,
    /// Sends a mail.
    Send,
    /// Claims a guard.
    Guard,
}

impl RequestKind {
    /// The word used in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Finish => "finish",
            Self::Inbox => "inbox",
            Self::Rotate => "rotate",
            Self::Key => "key",
            Self::Send => "send",
            Self::Guard => "guard",
        }
    }
}

/// A request with an idempotency key. It is recorded under a unique key in the same
/// transaction that carries it out. So a retry finds the result, even when both arrive at
/// the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The caller.
    pub consumer: ConsumerId,
    /// What it does.
    pub kind: RequestKind,
    /// Its idempotency key.
    pub key: IdempotencyKey,
    /// A digest of its content, which detects a key that is reused for another request.
    pub tag: [u8; 16],
}

/// The outcome of a request to create something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created<T> {
    /// It was created.
    New(T),
    /// The same request created it before.
    Known(T),
    /// Nothing was created: the address or the name is taken, or what it depends on does
    /// not exist.
    Refused,
    /// The idempotency key was used for another request.
    KeyReused,
}

impl<T> Created<T> {
    /// What this request created; `None` otherwise.
    pub fn fresh(self) -> Option<T> {
        match self {
            Self::New(created) => Some(created),
            Self::Known(_) | Self::Refused | Self::KeyReused => None,
        }
    }
}
