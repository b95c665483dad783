//! The store's traits, one for each kind of caller. Each method is one transaction. When a
//! caller drops the future of a method, the database work continues to its end.

mod error;
mod refusal;

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    ArtifactView, ClaimToken, Class, ConsumeRequest, Consumed, DeadLetter, DeliveryId, Expectation,
    FeedBounds, InboxId, NewDelivery, NewMessage, Reason, Recorded, Seq, StoredDelivery, Timestamp,
    Trace, TracedId,
};

pub use error::StoreError;
pub use refusal::{RefusalLog, Refusals};

/// The deliveries that are waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// When this was read, by the database's clock.
    pub at: Timestamp,
    /// Deliveries that are recorded and not finished.
    pub unfinished: u64,
    /// The age of the oldest of them.
    pub oldest: Duration,
    /// How long the one that is due for longest has waited for a worker. A delivery
    /// whose retry is scheduled for later, or that a worker holds, is not due.
    pub overdue: Duration,
    /// Dead-lettered deliveries.
    pub dead_letters: u64,
}

/// Records deliveries: for the webhook, the poller and the sweeper.
#[async_trait]
pub trait DeliveryLog: Send + Sync {
    /// Records a batch and returns the outcomes in the batch's order. What is new is one
    /// commit; a delivery whose provider id was used for other content may be another one.
    /// The batch may contain the same delivery twice.
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError>;

    /// Up to `limit` unfinished deliveries for which the queue should be notified
    /// (again), longest due first: new ones whose first notification had no effect,
    /// ones whose retry is due, and claimed ones whose lease has expired.
    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError>;

    /// Up to `limit` deliveries that may be claimed now, longest due first: those of
    /// [`Self::due`], and those that will be due within `ahead`. For workers, which look
    /// for work themselves in case nobody is notified.
    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError>;

    /// Records that the queue was notified for these. They are due again after `wait`. A
    /// delivery that is no longer due keeps its due time.
    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        wait: Duration,
    ) -> Result<(), StoreError>;

    /// The deliveries that are waiting.
    async fn backlog(&self) -> Result<Backlog, StoreError>;
}

/// A worker's right to finish a delivery. The methods that end a claim take it by value,
/// so a claim is ended at most once.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    /// The row.
    pub delivery: DeliveryId,
    /// The fencing token: ending the claim requires that the row still has it.
    pub token: ClaimToken,
    /// Which attempt this is, from 1. A claim alone counts no attempt: the methods that
    /// end it do, and [`WorkLog::count_attempt`].
    pub attempt: u32,
    /// How many claims in a row before this one were never ended. The delivery may have
    /// killed its worker.
    pub unended: u32,
    /// How long ago the delivery was first claimed since it was recorded or requeued, by the
    /// database's clock.
    pub age: Duration,
}

/// The outcome of asking for a claim.
#[derive(Debug)]
pub enum Claimed {
    /// The worker has the delivery until the lease expires.
    Yours(Claim, StoredDelivery),
    /// The worker has the delivery, but its body cannot be unsealed.
    Unsealable(Claim, UnsealError),
    /// Another worker has it, or its next attempt is not due yet.
    NotNow,
    /// It is finished, or there is no such delivery: a late notification.
    Finished,
}

/// Why a sealed body cannot be unsealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsealError {
    /// This process does not have its key. Another process may have it, or an operator
    /// may restore it.
    KeyUnknown,
    /// The key is available, but the bytes are not what was sealed for this row.
    Damaged,
}

impl UnsealError {
    /// Whether a retry may help.
    pub fn class(self) -> Class {
        match self {
            Self::KeyUnknown => Class::Upstream,
            Self::Damaged => Class::Permanent,
        }
    }

    /// The failure as a reason for the operator.
    pub fn reason(self) -> Reason {
        Reason::new(match self {
            Self::KeyUnknown => "key_unknown",
            Self::Damaged => "damaged",
        })
    }
}

/// What a worker found in a delivery.
#[derive(Debug, Clone, Default)]
pub struct Processed {
    /// The messages in it; none when it was not about inbound mail.
    pub messages: Vec<NewMessage>,
    /// Why there are none.
    pub ignored: Option<Reason>,
}

/// What the database wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finished {
    /// Messages that were new.
    pub messages: u32,
    /// Messages that were duplicates.
    pub duplicate_messages: u32,
    /// Artifacts that were new.
    pub artifacts: u32,
    /// Artifacts that were duplicates.
    pub duplicate_artifacts: u32,
    /// New messages that polling found before a webhook delivered them.
    pub recovered: u32,
    /// How much later than by the first path, webhook or polling, this delivery brought
    /// a message by the other path; the longest time if there are several.
    pub other_path_lag: Option<Duration>,
}

/// Whether a claim or a lease was still valid when it was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed<T = ()> {
    /// It was; the rows are committed.
    Done(T),
    /// The lease had expired and another worker or poller took it; nothing was written.
    Lost,
}

/// Processes deliveries: for the worker.
#[async_trait]
pub trait WorkLog: Send + Sync {
    /// Claims a delivery for `lease`, in one guarded update.
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError>;

    /// Extends a claim: from now on it holds for `lease`.
    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<Completed, StoreError>;

    /// Counts the attempt of a claim, so that it stays counted if the worker dies now.
    async fn count_attempt(&self, claim: &Claim) -> Result<Completed, StoreError>;

    /// Takes back what [`Self::count_attempt`] counted, now and before: the worker is
    /// still alive, so this delivery does not kill workers.
    async fn uncount_attempt(&self, claim: &Claim) -> Result<Completed, StoreError>;

    /// What is expected at these addresses, in their order: the inbox of each, its
    /// settings, and the attempts that wait there.
    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError>;

    /// Ends a claim with success. Writes messages, artifacts, their positions in the
    /// inboxes and the delivery's state in one transaction.
    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError>;

    /// Ends a claim with a retry: the attempt is counted, and the delivery may be claimed
    /// again after `wait`.
    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError>;

    /// Like [`Self::retry_later`], but the attempt is not counted: the mail was not
    /// parsed, because something that it needs was unavailable.
    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError>;

    /// Ends a claim for good. The delivery is kept for the operator.
    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError>;
}

/// Watches one inbox for changes.
#[async_trait]
pub trait InboxWatch: Send {
    /// Returns when something may have changed since the last call, or since the watch
    /// began. It may return although nothing changed. It must return within a second
    /// of a change.
    async fn changed(&mut self);
}

/// Reads and consumes artifacts: for the feed.
#[async_trait]
pub trait AgentLog: Send + Sync {
    /// Up to `limit` items of an inbox after a position, in order.
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError>;

    /// Consumes an artifact, or says why not. The answer contains a value only if the
    /// consume row is committed.
    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError>;

    /// The first and last position of an inbox's feed. Read the items first and this
    /// second, so that items deleted in between are noticed.
    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError>;

    /// Begins to watch an inbox. Start the watch before reading the items, or an item
    /// that arrives in between is missed.
    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch>;
}

/// Dead letters: for the operator.
#[async_trait]
pub trait FailureLog: Send + Sync {
    /// Up to `limit` dead letters, newest first.
    async fn dead_letters(&self, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;

    /// One dead letter and its body. The body is `None` when it was wiped.
    async fn find_dead_letter(
        &self,
        delivery: DeliveryId,
    ) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, StoreError>;

    /// The delivery that an id leads to, whatever became of it.
    async fn trace(&self, id: TracedId) -> Result<Option<Trace>, StoreError>;

    /// Makes a dead letter pending again, due at once and with zero attempts. False when
    /// the delivery is not a dead letter, or its body was wiped.
    async fn requeue(&self, delivery: DeliveryId) -> Result<bool, StoreError>;
}
