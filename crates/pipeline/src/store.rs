//! The seams to the database, one for each kind of caller. A method is one
//! transaction; no transaction crosses a seam. An implementation never lets its
//! caller's cancellation cancel the database's work.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    ArtifactView, ClaimToken, Class, ConsumeRequest, Consumed, DeadLetter, DeliveryId, Expectation,
    FeedBounds, InboxId, NewDelivery, NewMessage, Reason, Recorded, Seq, StoredDelivery, Timestamp,
};

/// The database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is away, busy, or did not answer in time; whether the work was done
    /// is unknown.
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It answered with something that cannot be: a bug of ours or a damaged row.
    #[error("the database holds or refused something unexpected")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether trying again may help.
    pub fn class(&self) -> Class {
        match self {
            Self::Unavailable(_) => Class::Transient,
            Self::Broken(_) => Class::Permanent,
        }
    }
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// When this was looked up, by the database's clock.
    pub at: Timestamp,
    /// Deliveries that are recorded and not finished.
    pub unfinished: u64,
    /// How long the oldest of them has waited.
    pub oldest: Duration,
    /// How long the longest due of them has waited for a worker to take it. One
    /// that was put off, or that a worker holds, is not due, however old it is.
    pub overdue: Duration,
    /// Deliveries that were given up.
    pub dead_letters: u64,
}

/// The first layer: for the webhook, the poller and the sweeper.
#[async_trait]
pub trait DeliveryLog: Send + Sync {
    /// Records a batch in one commit and answers in the batch's order. The
    /// batch may hold duplicates of itself.
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError>;

    /// Up to `limit` unfinished deliveries for which the bell should be rung
    /// (again), longest due first: new ones whose first ring has gone
    /// unanswered, put-back ones whose wait is over, claimed ones whose lease
    /// has passed.
    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError>;

    /// Notes that the bell was rung for these; they are due again only after
    /// `patience`, unless something else makes them due later than that.
    async fn mark_notified(&self, deliveries: &[DeliveryId], patience: Duration) -> Result<(), StoreError>;

    /// How much waits.
    async fn backlog(&self) -> Result<Backlog, StoreError>;
}

/// A worker's right to finish a delivery: the row and a fencing token. It is
/// moved into whatever ends it, so a claim is ended once.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    /// The row.
    pub delivery: DeliveryId,
    /// What the row must still hold when the claim is ended.
    pub token: ClaimToken,
    /// Which attempt this is, from 1; counted in the row before this was returned.
    pub attempt: u32,
    /// How old the delivery is, by the database's clock.
    pub age: Duration,
}

/// What came of asking for a claim.
#[derive(Debug)]
pub enum Claimed {
    /// It is yours until the lease ends.
    Yours(Claim, StoredDelivery),
    /// It is yours, and its body does not open.
    Unsealable(Claim, UnsealError),
    /// Somebody else holds it, or its next attempt is not due yet.
    NotNow,
    /// It is finished, or there is no such delivery; the ring was an echo.
    Finished,
}

/// Why a sealed body does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsealError {
    /// This process has not got its key. Another may have it, or get it back.
    KeyUnknown,
    /// The key is there and the bytes are not what was sealed for this row.
    Damaged,
}

impl UnsealError {
    /// Whether trying again may help.
    pub fn class(self) -> Class {
        match self {
            Self::KeyUnknown => Class::Upstream,
            Self::Damaged => Class::Permanent,
        }
    }

    /// The failure as a word for the operator.
    pub fn reason(self) -> Reason {
        Reason::new(match self {
            Self::KeyUnknown => "key_unknown",
            Self::Damaged => "damaged",
        })
    }
}

/// What a worker made of a delivery.
#[derive(Debug, Clone, Default)]
pub struct Processed {
    /// The messages it held, none when it was not about inbound mail.
    pub messages: Vec<NewMessage>,
    /// Why it held none.
    pub ignored: Option<Reason>,
}

/// What the database wrote of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finished {
    /// Messages that were new.
    pub messages: u32,
    /// Messages that were known already.
    pub duplicate_messages: u32,
    /// Artifacts that were new.
    pub artifacts: u32,
    /// Artifacts that were known already.
    pub duplicate_artifacts: u32,
    /// New messages that polling has found before any post told of them.
    pub recovered: u32,
    /// How much later than the first path the other one told of a message, if
    /// this delivery was the other one; the latest of several.
    pub other_path_lag: Option<Duration>,
}

/// Whether a claim still counted when it was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed<T = ()> {
    /// It did; the rows are committed.
    Done(T),
    /// The lease had passed to somebody else; nothing was written.
    Lost,
}

/// The second and third layer: for the worker.
#[async_trait]
pub trait WorkLog: Send + Sync {
    /// Claims a delivery for `lease` and counts the attempt, in one guarded
    /// update, before anything dangerous is done with its bytes.
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError>;

    /// What is expected at these addresses, in their order: which inbox each
    /// stands for, its rules, and who waits there.
    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError>;

    /// Ends a claim with success: messages, artifacts, their places in the
    /// inboxes and the delivery's state, all in one transaction.
    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError>;

    /// Ends a claim for now; the delivery may be claimed again after `wait`.
    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError>;

    /// The same, and the attempt is not counted: nothing was done with the bytes,
    /// since something that belongs to them was not there.
    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError>;

    /// Ends a claim for good; the delivery is kept for the operator.
    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError>;
}

/// A wait for news of one inbox.
#[async_trait]
pub trait InboxWatch: Send {
    /// Returns when something may have arrived since the last call (or since
    /// the watch began). It may wake for nothing; it must not sleep through an
    /// arrival for longer than a second.
    async fn changed(&mut self);
}

/// What agents ask: for the feed.
#[async_trait]
pub trait AgentLog: Send + Sync {
    /// Up to `limit` items of an inbox after a position, in order.
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError>;

    /// Consumes an artifact, or says why not. A value is in the answer only if
    /// the row that gives it away is committed.
    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError>;

    /// How far the feed of an inbox reaches. Look at the items first and ask
    /// this second: what is discarded in between is then noticed.
    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError>;

    /// Begins to watch an inbox. Watch first and look second, or an item that
    /// arrives in between is missed.
    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch>;
}

/// What was given up: for the operator.
#[async_trait]
pub trait FailureLog: Send + Sync {
    /// Up to `limit` buried deliveries, newest first.
    async fn dead_letters(&self, limit: u32) -> Result<Vec<DeadLetter>, StoreError>;

    /// One buried delivery and its body, unless that was wiped.
    async fn find_dead_letter(
        &self,
        delivery: DeliveryId,
    ) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, StoreError>;

    /// Makes a buried delivery pending again with its attempts at zero and due
    /// at once; false when it is not buried, or its body was wiped.
    async fn requeue(&self, delivery: DeliveryId) -> Result<bool, StoreError>;
}
