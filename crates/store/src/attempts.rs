//! Attempts: one attempt waits for one code or link in one inbox.

mod consume;
mod earlier;
mod finish;
mod open;
mod resend;
mod row;

use async_trait::async_trait;
use pipeline::{
    AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId, AttemptLog, AttemptOutcome,
    AttemptView, NewAttempt, Opened, Request, ResendOutcome, ResendRequest, Scope, StoreError,
};

use crate::backend::Backend;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> AttemptLog for Database<B> {
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError> {
        self.run(SHORT, |session| open::open(session, attempt))
            .await
    }

    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError> {
        let scope = scope.clone();
        self.run(SHORT, |session| look_up(session, attempt, scope))
            .await
    }

    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError> {
        let request = request.clone();
        self.run(SHORT, |session| consume::consume(session, request))
            .await
    }

    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError> {
        let request = request.clone();
        self.run(SHORT, |session| resend::resend(session, request))
            .await
    }

    async fn finish_attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
        outcome: AttemptOutcome,
        asked: Option<&Request>,
    ) -> Result<AttemptFinished, StoreError> {
        let (scope, asked) = (scope.clone(), asked.cloned());
        self.run(SHORT, |session| {
            finish::finish(session, attempt, scope, outcome, asked)
        })
        .await
    }
}

async fn look_up<B: Backend>(
    session: Session<B>,
    attempt: AttemptId,
    scope: Scope,
) -> Result<Option<AttemptView>, Fault> {
    let mut connection = session.reader().await?;
    match row::find_in::<B>(&mut connection, attempt, &scope).await? {
        Some(found) => Ok(Some(row::view::<B>(&mut connection, found).await?)),
        None => Ok(None),
    }
}
