//! What agents ask.

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactView, AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId,
    AttemptLog, AttemptOutcome, AttemptView, ConsumeRequest, Consumed, FeedBounds, InboxId,
    InboxWatch, NewAttempt, Opened, Request, ResendOutcome, ResendRequest, Scope, Seq, StoreError,
};

use super::{Sqlite, attempt_consumes, attempts, resends};
use crate::database::Database;
use crate::uncancelled::SHORT;
use crate::{artifacts, consumes};

#[async_trait]
impl AgentLog for Database<Sqlite> {
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
        // Whoever writes is in this process, so nothing can be missed.
        self.session.arrivals.watch(inbox)
    }
}

#[async_trait]
impl AttemptLog for Database<Sqlite> {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        let work = attempts::open(self.session.backend.writer.clone(), attempt);
        self.work.run(SHORT, work).await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        let work = attempts::look(self.session.backend.readers.clone(), attempt, scope.clone());
        self.work.run(SHORT, work).await
    }

    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError> {
        let keyring = self.session.secrets.keyring.clone();
        let work = attempt_consumes::consume(
            self.session.backend.writer.clone(),
            keyring,
            request.clone(),
        );
        self.work.run(SHORT, work).await
    }

    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError> {
        let work = resends::resend(self.session.backend.writer.clone(), request.clone());
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
        let finish = attempts::finish(
            self.session.backend.writer.clone(),
            attempt,
            scope,
            outcome,
            asked,
        );
        let arrivals = self.session.arrivals.clone();
        let work = async move {
            let ended = finish.await?;
            if let AttemptFinished::Finished(view) = &ended {
                arrivals.announce(view.inbox.as_str());
            }
            Ok(ended)
        };
        self.work.run(SHORT, work).await
    }
}
