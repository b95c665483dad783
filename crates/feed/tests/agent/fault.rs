//! Databases that behave badly at the worst moment.

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
use testkit::patience;

use crate::harness::{arrives, code};

/// A real database into which an artifact arrives just after the feed's first
/// look and just before that look is answered.
pub(crate) struct Untimely {
    store: Store,
    has_arrived: AtomicBool,
}

impl Untimely {
    pub(crate) fn over(store: Store) -> Arc<dyn AgentLog> {
        Arc::new(Self {
            store,
            has_arrived: AtomicBool::new(false),
        })
    }
}

#[async_trait]
impl AgentLog for Untimely {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let views = self.store.agents.artifacts(inbox, after, limit).await;
        if !self.has_arrived.swap(true, Ordering::SeqCst) {
            arrives(&self.store, inbox.clone(), code("493817")).await;
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

/// A database that never answers, not even that it is away.
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

/// A real database that is away for as many looks as it is told.
pub(crate) struct Stumbling {
    store: Store,
    looks: AtomicUsize,
    stumbles: AtomicUsize,
}

impl Stumbling {
    pub(crate) fn over(store: Store) -> Arc<Self> {
        Arc::new(Self {
            store,
            looks: AtomicUsize::new(0),
            stumbles: AtomicUsize::new(0),
        })
    }

    /// From now on so many looks fail.
    pub(crate) fn stumble(&self, times: usize) {
        self.stumbles.store(times, Ordering::SeqCst);
    }

    /// Whether every failure was met.
    pub(crate) fn stands(&self) -> bool {
        self.stumbles.load(Ordering::SeqCst) == 0
    }

    /// Resolves when it was looked at so often.
    pub(crate) async fn looked_at(&self, times: usize) {
        patience::until("it was looked at", async || {
            (self.looks.load(Ordering::SeqCst) >= times).then_some(())
        })
        .await;
    }

    fn step(&self) -> Result<(), StoreError> {
        let left = |stumbles: usize| stumbles.checked_sub(1);
        let falls = self
            .stumbles
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
        self.looks.fetch_add(1, Ordering::SeqCst);
        match falls {
            Ok(_) => Err(StoreError::Unavailable("a stumble".into())),
            Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl AgentLog for Stumbling {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        self.step()?;
        self.store.agents.artifacts(inbox, after, limit).await
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
impl AttemptLog for Stumbling {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        self.store.attempts.open_attempt(attempt).await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        self.step()?;
        self.store.attempts.attempt(attempt, scope).await
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

/// A real database that counts how often it is asked what waits.
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

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        patience: Duration,
    ) -> Result<(), StoreError> {
        self.log.mark_notified(deliveries, patience).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.backlogs.fetch_add(1, Ordering::SeqCst);
        self.log.backlog().await
    }
}
