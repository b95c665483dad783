//! Databases that behave badly at the worst moment.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pipeline::{
    AgentLog, Arrival, ArtifactView, ConsumeRequest, Consumed, InboxId, Reach, Seq, StoreError,
};
use store::Store;

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

    async fn reach(&self, inbox: &InboxId) -> Result<Reach, StoreError> {
        self.store.agents.reach(inbox).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn Arrival> {
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

    async fn reach(&self, _: &InboxId) -> Result<Reach, StoreError> {
        pending().await
    }

    fn watch(&self, _: &InboxId) -> Box<dyn Arrival> {
        Box::new(Self)
    }
}

#[async_trait]
impl Arrival for Silent {
    async fn news(&mut self) {
        pending::<()>().await;
    }
}
