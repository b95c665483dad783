//! What agents ask.

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactView, AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId,
    AttemptLog, AttemptOutcome, AttemptView, ConsumeRequest, Consumed, FeedBounds, InboxId,
    InboxWatch, NewAttempt, Opened, Request, ResendOutcome, ResendRequest, Scope, Seq, StoreError,
};

use super::{Postgres, artifacts, attempt_consumes, attempts, consumes, resends};
use crate::uncancelled::SHORT;

#[async_trait]
impl AgentLog for Postgres {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let listed = artifacts::list(
            self.pool.clone(),
            inbox.as_str().to_owned(),
            after.number(),
            limit,
        );
        let work = async move { listed.await?.into_iter().map(TryInto::try_into).collect() };
        self.work.run(SHORT, work).await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = consumes::consume(self.pool.clone(), keyring, request.clone());
        self.work.run(SHORT, work).await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        let work = artifacts::feed_bounds(self.pool.clone(), inbox.as_str().to_owned());
        self.work.run(SHORT, work).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        let watch = self.arrivals.watch(inbox);
        self.listener.start();
        watch
    }
}

#[async_trait]
impl AttemptLog for Postgres {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        let work = attempts::open(self.pool.clone(), attempt);
        self.work.run(SHORT, work).await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        let work = attempts::look(self.pool.clone(), attempt, scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = attempt_consumes::consume(self.pool.clone(), keyring, request.clone());
        self.work.run(SHORT, work).await
    }

    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError> {
        let work = resends::resend(self.pool.clone(), request.clone());
        self.work.run(SHORT, work).await
    }

    async fn finish_attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
        outcome: AttemptOutcome,
        asked: Option<&Request>,
    ) -> Result<AttemptFinished, StoreError> {
        let (scope, asked) = (scope.clone(), asked.cloned());
        let work = attempts::finish(self.pool.clone(), attempt, scope, outcome, asked);
        self.work.run(SHORT, work).await
    }
}
