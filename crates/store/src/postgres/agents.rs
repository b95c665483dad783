//! What agents ask.

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactView, AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId,
    AttemptLog, AttemptOutcome, AttemptView, ConsumeRequest, Consumed, FeedBounds, InboxId,
    InboxWatch, NewAttempt, Opened, Request, ResendOutcome, ResendRequest, Scope, Seq, StoreError,
};

use super::{Postgres, attempt_consumes, attempts, resends};
use crate::backend::Backend;
use crate::database::Database;
use crate::uncancelled::SHORT;
use crate::{artifacts, consumes};

#[async_trait]
impl AgentLog for Database<Postgres> {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let listed = artifacts::list(
            self.session.clone(),
            inbox.as_str().to_owned(),
            after.number(),
            limit,
        );
        let work = async move { listed.await?.into_iter().map(TryInto::try_into).collect() };
        self.work.run(SHORT, work).await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        let request = request.clone();
        self.run(SHORT, |session| consumes::consume(session, request))
            .await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        let work = artifacts::feed_bounds(self.session.clone(), inbox.as_str().to_owned());
        self.work.run(SHORT, work).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        let watch = self.session.arrivals.watch(inbox);
        self.session.backend.watch();
        watch
    }
}

#[async_trait]
impl AttemptLog for Database<Postgres> {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        let work = attempts::open(self.session.backend.pool.clone(), attempt);
        self.work.run(SHORT, work).await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        let work = attempts::look(self.session.backend.pool.clone(), attempt, scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError> {
        let keyring = self.session.secrets.keyring.clone();
        let work =
            attempt_consumes::consume(self.session.backend.pool.clone(), keyring, request.clone());
        self.work.run(SHORT, work).await
    }

    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError> {
        let work = resends::resend(self.session.backend.pool.clone(), request.clone());
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
        let work = attempts::finish(
            self.session.backend.pool.clone(),
            attempt,
            scope,
            outcome,
            asked,
        );
        self.work.run(SHORT, work).await
    }
}
