//! A dead letter: a delivery that was given up.

use crate::{ArtifactId, DeliveryId, InboxId, MessageId, Reason, SourceName, Timestamp};

/// An id that leads to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedId {
    /// The delivery itself.
    Delivery(DeliveryId),
    /// A message of it.
    Message(MessageId),
    /// An artifact of it.
    Artifact(ArtifactId),
}

/// The delivery that an id leads to, as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The id of its row.
    pub delivery: DeliveryId,
    /// Its state: `pending`, `claimed`, `done` or `buried`.
    pub state: String,
    /// Why it was retried, ignored or given up.
    pub reason: Option<Reason>,
    /// Its messages, and what rules did with them.
    pub messages: Vec<TracedMessage>,
}

/// A message of a traced delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedMessage {
    /// Its id.
    pub id: MessageId,
    /// Its inbox.
    pub inbox: InboxId,
    /// How many items it has.
    pub items: u64,
    /// What rules did with it.
    pub rules: Vec<String>,
    /// Why it is not answered.
    pub no_reply: Option<Reason>,
}

/// A delivery that was given up, as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id of its row.
    pub id: DeliveryId,
    /// The source it came from.
    pub source: SourceName,
    /// Why it was given up.
    pub reason: Reason,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it was given up.
    pub dead_lettered_at: Timestamp,
    /// How many bytes its body takes in the database; `None` when the body was wiped.
    pub body_bytes: Option<u64>,
    /// The request's `Content-Type`.
    pub content_type: String,
    /// Whether its provider's id had been used for other content before.
    pub is_conflict: bool,
}
