//! Requests of agents for an open attempt, and their outcomes.

use std::time::Duration;

use secrecy::SecretString;

use super::{AttemptOutcome, AttemptView};
use crate::{
    ArtifactId, ArtifactKind, AttemptId, ConsumerId, IdempotencyKey, Scope, SenderProof, Timestamp,
};

/// A request to consume the newest artifact of an attempt.
#[derive(Debug, Clone)]
pub struct AttemptConsume {
    /// Which attempt.
    pub attempt: AttemptId,
    /// The caller.
    pub consumer: ConsumerId,
    /// What the caller may touch.
    pub scope: Scope,
    /// The idempotency key of this request.
    pub idempotency_key: IdempotencyKey,
    /// For how long the same request gets the same answer.
    pub replay_window: Duration,
}

/// A request to count one resend: the agent asks the sender for another mail.
#[derive(Debug, Clone)]
pub struct ResendRequest {
    /// Which attempt.
    pub attempt: AttemptId,
    /// The caller.
    pub consumer: ConsumerId,
    /// What the caller may touch.
    pub scope: Scope,
    /// The idempotency key of this request.
    pub idempotency_key: IdempotencyKey,
}

/// The outcome of an [`AttemptConsume`].
#[derive(Debug, Clone)]
pub enum AttemptConsumed {
    /// The value. Its consume row is committed and names this request.
    Value {
        /// Which artifact it is.
        artifact: ArtifactId,
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// Whether the sender of its mail is proven.
        sender_proof: SenderProof,
        /// When it was consumed.
        at: Timestamp,
        /// Whether this is the repeated answer to the same request.
        is_replay: bool,
    },
    /// Nothing can be consumed now; the view has the attempt's state.
    NotReady(Box<AttemptView>),
    /// Another request consumed the artifact.
    Already {
        /// When.
        at: Timestamp,
    },
    /// The idempotency key was used for something else.
    KeyReused,
    /// The caller's scope has no such attempt.
    Unknown,
}

/// The outcome of a [`ResendRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendOutcome {
    /// The agent may ask the sender for another mail.
    Granted {
        /// How many resends are left.
        left: u32,
    },
    /// The same request was granted before.
    Repeated {
        /// How many resends were left after it.
        left: u32,
    },
    /// No resends are left.
    Spent,
    /// The attempt is over.
    Over,
    /// The idempotency key was used for another attempt.
    KeyReused,
    /// The caller's scope has no such attempt.
    Unknown,
}

/// The outcome of finishing an attempt.
#[derive(Debug, Clone)]
pub enum AttemptFinished {
    /// It is finished with this outcome, now or by an earlier request.
    Finished(Box<AttemptView>),
    /// The same request finished it before.
    Repeated(Box<AttemptView>),
    /// The idempotency key was used for another request.
    KeyReused,
    /// It was finished with another outcome.
    OtherOutcome(AttemptOutcome),
    /// The caller's scope has no such attempt.
    Unknown,
}
