//! How long things are kept, and the seam through which they go.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Seq, StoreError};

/// What is discarded when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionKind {
    /// The values of artifacts; the items stay in the feed.
    Values,
    /// The bodies of finished deliveries; what is known of them stays.
    Bodies,
    /// The items of messages; what a message is known by stays.
    Items,
    /// Messages without items, when no copy of them can come any more.
    Messages,
    /// What is known of requests, so that they can be repeated.
    Requests,
    /// Attempts whose deadline has passed and that no item is left of.
    Attempts,
    /// Deliveries without a body that no message came of, or none any more.
    Deliveries,
    /// Consumes of artifacts that are gone.
    Consumes,
    /// Inboxes that nobody asked for and that nothing is left of.
    Inboxes,
}

impl RetentionKind {
    /// All of it, in an order in which each makes room for the next.
    pub const ALL: [Self; 9] = [
        Self::Values,
        Self::Bodies,
        Self::Items,
        Self::Messages,
        Self::Deliveries,
        Self::Consumes,
        Self::Requests,
        Self::Attempts,
        Self::Inboxes,
    ];

    /// The word that meters use.
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
        }
    }
}

/// For how long things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPeriods {
    /// A consumed value, after its consume: a retry gets it again until then.
    pub consumed_values: Duration,
    /// An unused value, after it has expired. Longer than a consume takes, or
    /// the retry of one at the last moment would find nothing.
    pub expired_values: Duration,
    /// The body of a delivery, after it was done.
    pub done_bodies: Duration,
    /// The body of a delivery, after it was buried.
    pub dead_letter_bodies: Duration,
    /// The items of a message, after it was received, unless its inbox says
    /// otherwise; a request, after it came; and an attempt, after its deadline.
    pub items: Duration,
    /// What a message and a delivery are known by, after they came, and at least as
    /// long as items: a copy that comes later is taken for another.
    pub known: Duration,
    /// A consume.
    pub consumes: Duration,
}

/// What came of discarding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discarded {
    /// How many were discarded.
    pub count: u64,
    /// By how much the latest of them was overdue.
    pub late: Duration,
}

/// How far the feed of an inbox reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedBounds {
    /// Up to here items were discarded; a reader who has not been here yet has
    /// missed some.
    pub purged: Seq,
    /// The last place that was taken; nobody can have been further.
    pub last: Seq,
}

/// For whoever clears away.
#[async_trait]
pub trait RetentionLog: Send + Sync {
    /// Discards up to `limit` things of a kind whose time is over by the
    /// database's clock.
    async fn discard(&self, what: RetentionKind, keep: &RetentionPeriods, limit: u32) -> Result<Discarded, StoreError>;
}
