//! Polling: who asks a source for its mail, how far it has come, and the seams
//! it keeps that through. A source is asked by one poller at a time.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    Completed, DeliveryKey, InboxId, NewDelivery, PollerId, Reason, Recorded, SourceName,
    StoreError, Timestamp,
};

/// A poller's right to ask a source, with a fencing token. A poller whose lease
/// has passed holds an old one, and the database refuses whatever it still
/// tries to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The source.
    pub source: SourceName,
    /// What the row must still hold when something is written under the lease.
    pub fence: i64,
    /// How far the source was read; empty when it never was. Only the source's
    /// own pull contract understands it.
    pub cursor: String,
    /// How long ago a round of it ended well, by the database's clock.
    pub since_last: Option<Duration>,
}

/// What came of asking for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leased {
    /// The source is yours until the lease ends.
    Yours(Lease),
    /// Another poller has it.
    Held,
}

/// A mail that was found by asking for it.
#[derive(Debug, Clone)]
pub struct Polled {
    /// The delivery it becomes.
    pub delivery: NewDelivery,
    /// When the source says it arrived. A code that is found late is not a
    /// fresh one: its lifetime runs from here. A time ahead of the database's
    /// counts as now.
    pub arrived_at: Option<Timestamp>,
}

/// An inbox whose mail is awaited and has not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueInbox {
    /// The inbox.
    pub inbox: InboxId,
    /// For how long it is still awaited.
    pub remaining: Duration,
}

/// What a poller remembers: for the poller.
#[async_trait]
pub trait PollLog: Send + Sync {
    /// Takes a source that nobody holds, or prolongs what `poller` holds.
    async fn lease(
        &self,
        source: &SourceName,
        poller: PollerId,
        span: Duration,
    ) -> Result<Leased, StoreError>;

    /// Gives a source back, so that another poller need not wait for the
    /// lease's end.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Which of these keys have no delivery yet: a hint that saves fetching what
    /// is known. Whether a delivery is a duplicate is decided by [`Self::save`].
    async fn unseen(&self, keys: &[DeliveryKey]) -> Result<Vec<DeliveryKey>, StoreError>;

    /// Records what was found and how far that is, in one transaction, if the
    /// lease still counts. Answers in the order of `found`.
    async fn save(
        &self,
        lease: &Lease,
        found: Vec<Polled>,
        cursor: &str,
    ) -> Result<Completed<Vec<Recorded>>, StoreError>;

    /// Notes how a round ended: well, or why not.
    async fn round_ended(&self, lease: &Lease, failure: Option<Reason>) -> Result<(), StoreError>;

    /// The inboxes whose mail has been awaited for longer than `after` and has
    /// not come, up to `limit`.
    async fn overdue_inboxes(
        &self,
        after: Duration,
        limit: u32,
    ) -> Result<Vec<OverdueInbox>, StoreError>;
}

/// How a source has been doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceHealth {
    /// The source.
    pub source: SourceName,
    /// How many of its posts were heard.
    pub posts: u64,
    /// How long ago the last one came.
    pub since_last_post: Option<Duration>,
    /// The longest it is usually quiet.
    pub usual_gap: Duration,
    /// How long ago a round of polling it ended well.
    pub since_last_poll: Option<Duration>,
    /// Why the last round did not.
    pub failure: Option<Reason>,
}

impl SourceHealth {
    /// Posts that must have been heard before there is a habit to speak of.
    const LEAST_POSTS: u64 = 5;
    /// How much longer than its habit a source may be quiet.
    const PATIENCE: u32 = 3;

    /// Whether the source is quiet for much longer than its habit, and for at
    /// least `floor`: its webhook may be dead.
    pub fn is_silent(&self, floor: Duration) -> bool {
        let bearable = floor.max(self.usual_gap.saturating_mul(Self::PATIENCE));
        self.posts >= Self::LEAST_POSTS && self.since_last_post.is_some_and(|quiet| quiet > bearable)
    }
}

/// What is heard of sources: for the poller and the operator.
#[async_trait]
pub trait SilenceLog: Send + Sync {
    /// Listens for posts of a source since the last time, and learns its habit.
    async fn observe_posts(&self, source: &SourceName) -> Result<(), StoreError>;

    /// How every source has been doing, by name.
    async fn source_health(&self) -> Result<Vec<SourceHealth>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(posts: u64, quiet_minutes: u64) -> SourceHealth {
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
    fn silence_is_much_longer_than_the_habit() {
        let floor = Duration::from_mins(10);
        assert!(!standing(50, 89).is_silent(floor));
        assert!(standing(50, 91).is_silent(floor));
        assert!(!standing(50, 91).is_silent(Duration::from_hours(2)));
    }

    #[test]
    fn without_a_habit_there_is_no_silence() {
        let never = SourceHealth {
            since_last_post: None,
            ..standing(0, 0)
        };
        assert!(!never.is_silent(Duration::ZERO));
        assert!(!standing(4, 10_000).is_silent(Duration::ZERO));
    }
}
