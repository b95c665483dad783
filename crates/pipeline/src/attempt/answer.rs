//! What agents ask of an open attempt, and what comes of it.

use std::time::Duration;

use secrecy::SecretString;

use super::{AttemptOutcome, AttemptView};
use crate::{ArtifactId, ArtifactKind, AttemptId, ConsumerId, IdempotencyKey, Scope, Timestamp};

/// A request for whatever an attempt has.
#[derive(Debug, Clone)]
pub struct AttemptConsume {
    /// Which attempt.
    pub attempt: AttemptId,
    /// Who asks.
    pub consumer: ConsumerId,
    /// What the asker may see.
    pub scope: Scope,
    /// The asker's word for this request.
    pub idempotency_key: IdempotencyKey,
    /// For how long the same request gets the same answer.
    pub replay_window: Duration,
}

/// A request to ask the sender of an attempt's mail for another.
#[derive(Debug, Clone)]
pub struct ResendRequest {
    /// Which attempt.
    pub attempt: AttemptId,
    /// Who asks.
    pub consumer: ConsumerId,
    /// What the asker may see.
    pub scope: Scope,
    /// The asker's word for this request.
    pub idempotency_key: IdempotencyKey,
}

/// What came of an [`AttemptConsume`].
#[derive(Debug, Clone)]
pub enum AttemptConsumed {
    /// The value; its consume row is committed and names this request.
    Value {
        /// Which artifact it is.
        artifact: ArtifactId,
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// When it was consumed.
        at: Timestamp,
        /// Whether this request was answered before.
        is_replay: bool,
    },
    /// Nothing to consume right now; the attempt says how it stands.
    NotReady(Box<AttemptView>),
    /// Its artifact was consumed by another request.
    Already {
        /// When.
        at: Timestamp,
    },
    /// The idempotency key was used for something else.
    KeyReused,
    /// There is no such attempt in the asker's scope.
    Unknown,
}

/// What came of asking for another mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendOutcome {
    /// It may be asked for; this often more after that.
    Granted {
        /// How often more.
        left: u32,
    },
    /// It was granted to the same request before.
    Repeated {
        /// How often more it could be asked for after that.
        left: u32,
    },
    /// The budget is spent.
    Spent,
    /// The attempt is over.
    Over,
    /// The idempotency key was used for another attempt.
    KeyReused,
    /// There is no such attempt in the asker's scope.
    Unknown,
}

/// What came of finishing an attempt.
#[derive(Debug, Clone)]
pub enum AttemptFinished {
    /// It is finished with this outcome, now or before.
    Finished(Box<AttemptView>),
    /// The same request has finished it before.
    Repeated(Box<AttemptView>),
    /// The idempotency key was used for another request.
    KeyReused,
    /// It was finished with another outcome.
    OtherOutcome(AttemptOutcome),
    /// There is no such attempt in the asker's scope.
    Unknown,
}
