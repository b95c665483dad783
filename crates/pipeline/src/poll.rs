//! Polling: the lease of a source, its cursor, and the store's traits for both. One
//! poller at a time polls a source.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Completed, DeliveryKey, InboxId, NewDelivery, PollerId, Reason, Recorded, SourceName,
    StoreError, Timestamp,
};

/// A poller's right to poll a source. A poller whose lease has expired holds an old
/// fencing token, and the database refuses its writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The source.
    pub source: SourceName,
    /// The fencing token: a write under the lease requires that the row still has it.
    pub fence: i64,
    /// How far the source was read; empty before the first round. Only the code for
    /// that kind of source can read it.
    pub cursor: String,
    /// Time since the last successful round, by the database's clock.
    pub since_last: Option<Duration>,
}

/// The outcome of asking for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leased {
    /// The poller has the source until the lease expires.
    Yours(Lease),
    /// Another poller has the source.
    Held,
}

/// A mail that was found by polling.
#[derive(Debug, Clone)]
pub struct Polled {
    /// The delivery it becomes.
    pub delivery: NewDelivery,
    /// When the mail arrived, according to the source. The lifetime of a code starts
    /// here, not when it was found. A time in the future counts as now.
    pub arrived_at: Option<Timestamp>,
}

/// An inbox with an open attempt whose mail has not arrived in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueInbox {
    /// The inbox.
    pub inbox: InboxId,
    /// For how long the attempt still waits.
    pub remaining: Duration,
}

/// Leases, cursors and the mails that polling found: for the poller.
#[async_trait]
pub trait PollLog: Send + Sync {
    /// Takes the lease of a source that no other poller holds, or extends the lease that
    /// `poller` holds.
    async fn lease(
        &self,
        source: &SourceName,
        poller: PollerId,
        span: Duration,
    ) -> Result<Leased, StoreError>;

    /// Releases a source, so that another poller does not have to wait until the lease
    /// expires.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Which of these keys have no delivery yet. This only saves fetching known mail;
    /// [`Self::save`] decides whether a delivery is a duplicate.
    async fn unseen(&self, keys: &[DeliveryKey]) -> Result<Vec<DeliveryKey>, StoreError>;

    /// Records the mails that were found and the new cursor in one transaction, if the
    /// lease is still valid. Returns the outcomes in the order of `found`.
    async fn save(
        &self,
        lease: &Lease,
        found: Vec<Polled>,
        cursor: &str,
    ) -> Result<Completed<Vec<Recorded>>, StoreError>;

    /// Records how a round ended: `None` for success, or why it failed.
    async fn round_ended(&self, lease: &Lease, failure: Option<Reason>) -> Result<(), StoreError>;

    /// Up to `limit` inboxes with an attempt that has waited for longer than `after`
    /// without mail.
    async fn overdue_inboxes(
        &self,
        after: Duration,
        limit: u32,
    ) -> Result<Vec<OverdueInbox>, StoreError>;
}

/// The health of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceHealth {
    /// The source.
    pub source: SourceName,
    /// How many posts it has sent.
    pub posts: u64,
    /// Time since its last post.
    pub since_last_post: Option<Duration>,
    /// The usual longest time between two of its posts.
    pub usual_gap: Duration,
    /// Time since its last successful round of polling.
    pub since_last_poll: Option<Duration>,
    /// Why the last round failed, if it did.
    pub failure: Option<Reason>,
}

impl SourceHealth {
    /// The number of posts after which the usual gap is meaningful.
    const LEAST_POSTS: u64 = 5;
    /// A source is silent after this many times its usual gap.
    const SILENT_AFTER_GAPS: u32 = 3;

    /// Whether the source has sent nothing for much longer than its usual gap, and for
    /// longer than `floor`. Its webhook may be broken.
    pub fn is_silent(&self, floor: Duration) -> bool {
        let limit = floor.max(self.usual_gap.saturating_mul(Self::SILENT_AFTER_GAPS));
        self.posts >= Self::LEAST_POSTS && self.since_last_post.is_some_and(|gap| gap > limit)
    }
}

/// The health of sources: for the poller and the operator.
#[async_trait]
pub trait SilenceLog: Send + Sync {
    /// Counts the posts of a source since the last call and updates its usual gap.
    async fn observe_posts(&self, source: &SourceName) -> Result<(), StoreError>;

    /// The health of every source, ordered by name.
    async fn source_health(&self) -> Result<Vec<SourceHealth>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(posts: u64, quiet_minutes: u64) -> SourceHealth {
        SourceHealth {
            source: "a".parse().unwrap(),
            posts,
            since_last_post: Some(Duration::from_mins(quiet_minutes)),
            usual_gap: Duration::from_mins(30),
            since_last_poll: None,
            failure: None,
        }
    }

    #[test]
    fn source_is_silent_after_three_usual_gaps_and_the_floor() {
        let floor = Duration::from_mins(10);
        assert!(!health(50, 89).is_silent(floor));
        assert!(health(50, 91).is_silent(floor));
        assert!(!health(50, 91).is_silent(Duration::from_hours(2)));
    }

    #[test]
    fn source_with_few_posts_is_never_silent() {
        let never = SourceHealth {
            since_last_post: None,
            ..health(0, 0)
        };
        assert!(!never.is_silent(Duration::ZERO));
        assert!(!health(4, 10_000).is_silent(Duration::ZERO));
    }
}
