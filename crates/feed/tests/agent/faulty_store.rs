//! Stores that fail, hang or change at the worst moment.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactView, AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId,
    AttemptLog, AttemptOutcome, AttemptView, Backlog, ConsumeRequest, Consumed, DeliveryId,
    DeliveryLog, FeedBounds, InboxId, InboxWatch, NewAttempt, NewDelivery, Opened, Recorded,
    Request, ResendOutcome, ResendRequest, Scope, Seq, StoreError,
};
use store::Store;
use testkit::wait;

use crate::harness::{code, store_artifact};

/// A real store into which an artifact arrives after the feed's first read and before
/// that read returns.
pub(crate) struct ArrivesDuringRead {
    store: Store,
    has_arrived: AtomicBool,
}

impl ArrivesDuringRead {
    pub(crate) fn over(store: Store) -> Arc<dyn AgentLog> {
        Arc::new(Self {
            store,
            has_arrived: AtomicBool::new(false),
        })
    }
}

#[async_trait]
impl AgentLog for ArrivesDuringRead {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let views = self.store.agents.artifacts(inbox, after, limit).await;
        if !self.has_arrived.swap(true, Ordering::SeqCst) {
            store_artifact(&self.store, inbox.clone(), code("493817")).await;
        }
        views
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        self.store.agents.consume(request).await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        self.store.agents.feed_bounds(inbox).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        self.store.agents.watch(inbox)
    }
}

/// A store that never answers.
pub(crate) struct Silent;

#[async_trait]
impl AgentLog for Silent {
    async fn artifacts(
        &self,
        _: &InboxId,
        _: Seq,
        _: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        pending().await
    }

    async fn consume(&self, _: &ConsumeRequest) -> Result<Consumed, StoreError> {
        pending().await
    }

    async fn feed_bounds(&self, _: &InboxId) -> Result<FeedBounds, StoreError> {
        pending().await
    }

    fn watch(&self, _: &InboxId) -> Box<dyn InboxWatch> {
        Box::new(Self)
    }
}

#[async_trait]
impl InboxWatch for Silent {
    async fn changed(&mut self) {
        pending::<()>().await;
    }
}

/// A real store whose next reads can be made to fail.
pub(crate) struct Failing {
    store: Store,
    reads: AtomicUsize,
    failures_left: AtomicUsize,
}

impl Failing {
    pub(crate) fn over(store: Store) -> Arc<Self> {
        Arc::new(Self {
            store,
            reads: AtomicUsize::new(0),
            failures_left: AtomicUsize::new(0),
        })
    }

    /// Makes the next reads fail.
    pub(crate) fn fail(&self, times: usize) {
        self.failures_left.store(times, Ordering::SeqCst);
    }

    /// Whether all of those reads have failed.
    pub(crate) fn has_recovered(&self) -> bool {
        self.failures_left.load(Ordering::SeqCst) == 0
    }

    /// Resolves when this many reads have returned.
    pub(crate) async fn read_times(&self, times: usize) {
        wait::until("the store was read", async || {
            (self.reads.load(Ordering::SeqCst) >= times).then_some(())
        })
        .await;
    }

    /// Reads, or fails as planned. A read is counted when it has returned, so that what
    /// is stored after that is not in it.
    async fn read<T>(
        &self,
        reading: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let one_less = |left: usize| left.checked_sub(1);
        let failure = self
            .failures_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        let answer = match failure {
            Ok(_) => Err(StoreError::Unavailable("a planned failure".into())),
            Err(_) => reading.await,
        };
        self.reads.fetch_add(1, Ordering::SeqCst);
        answer
    }
}

#[async_trait]
impl AgentLog for Failing {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        self.read(self.store.agents.artifacts(inbox, after, limit))
            .await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        self.store.agents.consume(request).await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        self.store.agents.feed_bounds(inbox).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        self.store.agents.watch(inbox)
    }
}

#[async_trait]
impl AttemptLog for Failing {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        self.store.attempts.open_attempt(attempt).await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        self.read(self.store.attempts.attempt(attempt, scope)).await
    }

    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError> {
        self.store.attempts.consume_attempt(request).await
    }

    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError> {
        self.store.attempts.resend(request).await
    }

    async fn finish_attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
        outcome: AttemptOutcome,
        asked: Option<&Request>,
    ) -> Result<AttemptFinished, StoreError> {
        let log = &self.store.attempts;
        log.finish_attempt(attempt, scope, outcome, asked).await
    }
}

/// A real store that counts how often its backlog is read.
pub(crate) struct Counting {
    log: Arc<dyn DeliveryLog>,
    pub(crate) backlogs: AtomicUsize,
}

impl Counting {
    pub(crate) fn over(store: &Store) -> Arc<Self> {
        Arc::new(Self {
            log: Arc::clone(&store.deliveries),
            backlogs: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl DeliveryLog for Counting {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        self.log.record(batch).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.log.due(limit).await
    }

    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.log.claimable(ahead, limit).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        timeout: Duration,
    ) -> Result<(), StoreError> {
        self.log.mark_notified(deliveries, timeout).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.backlogs.fetch_add(1, Ordering::SeqCst);
        self.log.backlog().await
    }
}
