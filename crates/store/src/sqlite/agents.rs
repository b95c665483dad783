//! What agents ask.

use async_trait::async_trait;
use pipeline::{
    AgentLog, Arrival, ArtifactView, ConsumeRequest, Consumed, InboxId, Reach, Seq, StoreError,
};

use super::{Sqlite, artifacts, consumes};
use crate::uncancelled::SHORT;

#[async_trait]
impl AgentLog for Sqlite {
    async fn artifacts(
        &self,
        inbox: &InboxId,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<ArtifactView>, StoreError> {
        let listed = artifacts::list(
            self.readers.clone(),
            inbox.as_str().to_owned(),
            after.number(),
            limit,
        );
        let work = async move { listed.await?.into_iter().map(TryInto::try_into).collect() };
        self.work.run(SHORT, work).await
    }

    async fn consume(&self, request: &ConsumeRequest) -> Result<Consumed, StoreError> {
        let keyring = self.secrets.keyring.clone();
        let work = consumes::consume(self.writer.clone(), keyring, request.clone());
        self.work.run(SHORT, work).await
    }

    async fn reach(&self, inbox: &InboxId) -> Result<Reach, StoreError> {
        let work = artifacts::reach(self.readers.clone(), inbox.as_str().to_owned());
        self.work.run(SHORT, work).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn Arrival> {
        // Whoever writes is in this process, so nothing can be missed.
        self.arrivals.watch(inbox)
    }
}
