//! A consume: the one use of an artifact.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::{
    ArtifactId, ArtifactKind, AttemptId, ConsumerId, IdempotencyKey, InboxId, Reason, Scope,
    SenderProof, StoreError, Timestamp,
};

/// A request to consume an artifact.
#[derive(Debug, Clone)]
pub struct ConsumeRequest {
    /// Which artifact.
    pub artifact: ArtifactId,
    /// The caller.
    pub consumer: ConsumerId,
    /// What the caller may touch.
    pub scope: Scope,
    /// The idempotency key of this request.
    pub idempotency_key: IdempotencyKey,
    /// For how long the same request gets the same answer.
    pub replay_window: Duration,
}

/// The outcome of a [`ConsumeRequest`]. It contains the value only when the consume row
/// is committed, and only for the consumer that the row names.
#[derive(Debug, Clone)]
pub enum Consumed {
    /// This request consumed it.
    First {
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// Whether the sender of its mail is proven.
        sender_proof: SenderProof,
        /// When, by the database's clock.
        at: Timestamp,
    },
    /// The same consumer repeated the request with the same key: the same answer.
    Replayed {
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// Whether the sender of its mail is proven.
        sender_proof: SenderProof,
        /// When it was consumed.
        at: Timestamp,
    },
    /// Another request consumed it, or the replay window is over.
    Already {
        /// When it was consumed.
        at: Timestamp,
    },
    /// The idempotency key was used for another artifact.
    KeyReused,
    /// It is withheld and has no value.
    Withheld(Reason),
    /// A newer artifact of the same attempt replaced it.
    Superseded,
    /// It has expired.
    Expired {
        /// When it expired.
        at: Timestamp,
    },
    /// The caller's scope has no such artifact.
    Unknown,
}

/// One consume, without the value that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumeRecord {
    /// The artifact.
    pub artifact: ArtifactId,
    /// The consumer that got the value: the name of an API key or of a callback.
    pub consumer: String,
    /// When it was consumed, by the database's clock.
    pub at: Timestamp,
    /// What the consumer asked for: `attempt`, `artifact` or `callback`. Older consumes
    /// do not say.
    pub way: Option<String>,
    /// The inbox. `None` once the artifact was deleted.
    pub inbox: Option<InboxId>,
    /// Whether it was a code or a link. `None` once the artifact was deleted.
    pub kind: Option<ArtifactKind>,
    /// The attempt that the artifact belongs to.
    pub attempt: Option<AttemptId>,
}

/// Consumes, for the operator.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Up to `limit` consumes, newest first. With `before`, those that are listed after
    /// the consume of that artifact.
    async fn consumes(
        &self,
        before: Option<ArtifactId>,
        limit: u32,
    ) -> Result<Vec<ConsumeRecord>, StoreError>;

    /// The consume of an artifact, if it was consumed.
    async fn consume_of(&self, artifact: ArtifactId) -> Result<Option<ConsumeRecord>, StoreError>;
}
