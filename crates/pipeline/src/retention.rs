//! How long data is kept, and the store's trait for deleting it.

mod quota;

use std::time::Duration;

use async_trait::async_trait;

use crate::{Seq, SourceName, StoreError};

pub use quota::{Freed, StorageQuota};

/// The kinds of data that are deleted when their retention time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionKind {
    /// The values of artifacts. The items stay in the feed.
    Values,
    /// The bodies of finished deliveries. Their rows stay.
    Bodies,
    /// The items of messages. The messages' deduplication keys stay.
    Items,
    /// Messages without items, when duplicates of them are no longer expected.
    Messages,
    /// Recorded requests, which make retries return the same answer.
    Requests,
    /// Attempts whose deadline has passed and that have no items left.
    Attempts,
    /// Deliveries without a body and without messages.
    Deliveries,
    /// Consumes of artifacts that were deleted.
    Consumes,
    /// Inboxes without an owner and without content.
    Inboxes,
    /// The recipients and the rendered bytes of finished sends. Their rows stay.
    SendContents,
    /// What happened to sends, and how many there were in a window that is over.
    SendEvents,
    /// Finished sends and guards. From then on their intents count as new.
    Intents,
}

impl RetentionKind {
    /// All kinds, ordered so that each may allow the next to be deleted.
    pub const ALL: [Self; 12] = [
        Self::Values,
        Self::Bodies,
        Self::Items,
        Self::Messages,
        Self::Deliveries,
        Self::Consumes,
        Self::Requests,
        Self::Attempts,
        Self::Inboxes,
        Self::SendContents,
        Self::SendEvents,
        Self::Intents,
    ];

    /// The word used in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Bodies => "bodies",
            Self::Items => "items",
            Self::Messages => "messages",
            Self::Requests => "requests",
            Self::Attempts => "attempts",
            Self::Deliveries => "deliveries",
            Self::Consumes => "consumes",
            Self::Inboxes => "inboxes",
            Self::SendContents => "send_contents",
            Self::SendEvents => "send_events",
            Self::Intents => "intents",
        }
    }
}

/// For how long each kind of data is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPeriods {
    /// A consumed value, after its consume. Until then a retry gets it again.
    pub consumed_values: Duration,
    /// An unused value, after it has expired. It must be longer than a consume takes, so
    /// that the retry of a consume at the last moment still finds the value.
    pub expired_values: Duration,
    /// The body of a delivery, after it was processed.
    pub done_bodies: Duration,
    /// The body of a delivery, after it was dead-lettered.
    pub dead_letter_bodies: Duration,
    /// The items of a message, after it was received, unless its inbox has another
    /// value. Also a request, after it was made, and an attempt, after its deadline.
    pub items: Duration,
    /// The deduplication keys of messages and deliveries, after they arrived; at least
    /// as long as `items`. A duplicate that arrives later counts as new mail.
    pub known: Duration,
    /// A consume.
    pub consumes: Duration,
    /// The recipient and the rendered bytes of a send, after it was sent or had failed.
    pub send_contents: Duration,
    /// What happened to a send.
    pub send_events: Duration,
    /// An intent, after it was asked for; longer than any provider recognises a key.
    pub intents: Duration,
}

/// The outcome of one round of deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discarded {
    /// How many were deleted.
    pub count: u64,
    /// How overdue the most overdue of them was.
    pub late: Duration,
}

/// The first and the last position of an inbox's feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedBounds {
    /// Items up to this position were deleted. A reader whose cursor is before it has
    /// missed some.
    pub purged: Seq,
    /// The last position that was used. No valid cursor is after it.
    pub last: Seq,
}

/// Deletes old data: for the retention task.
#[async_trait]
pub trait RetentionLog: Send + Sync {
    /// Deletes up to `limit` items of a kind whose retention time is over, by the
    /// database's clock.
    async fn discard(
        &self,
        what: RetentionKind,
        keep: &RetentionPeriods,
        limit: u32,
    ) -> Result<Discarded, StoreError>;

    /// How many bytes the bodies of unfinished deliveries of each source take, as the quota
    /// counts them.
    async fn unfinished_bytes(&self) -> Result<Vec<(SourceName, u64)>, StoreError>;

    /// The same of finished deliveries, dead letters included, of all sources.
    async fn finished_bytes(&self) -> Result<u64, StoreError>;

    /// Deletes bodies of finished deliveries before their time, oldest first, until `bytes`
    /// are freed, at most `limit` of them. Dead letters come last: without its body a dead
    /// letter cannot be requeued. Mail to an unknown inbox is not one of these. While another
    /// process does the same, nothing is deleted.
    async fn free_bodies(&self, bytes: u64, limit: u32) -> Result<Freed, StoreError>;
}
