//! The feed of an inbox: its items, their use, and the wait for the next one.

use async_trait::async_trait;
use pipeline::{
    AgentLog, ArtifactView, ConsumeRequest, Consumed, FeedBounds, InboxId, InboxWatch, Seq,
    StoreError,
};

use crate::backend::Backend;
use crate::database::Database;
use crate::uncancelled::SHORT;
use crate::{artifacts, consumes};

#[async_trait]
impl<B: Backend> AgentLog for Database<B> {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let (inbox, after) = (inbox.as_str().to_owned(), after.number());
        self.run(SHORT, |session| async move {
            let items = artifacts::list(session, inbox, after, limit).await?;
            items.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        let request = request.clone();
        self.run(SHORT, |session| consumes::consume(session, request))
            .await
    }

    async fn feed_bounds(&self, inbox: &InboxId) -> Result<FeedBounds, StoreError> {
        let inbox = inbox.as_str().to_owned();
        self.run(SHORT, |session| artifacts::feed_bounds(session, inbox))
            .await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        let watch = self.session.watches.watch(inbox);
        self.session.backend.watch();
        watch
    }
}
