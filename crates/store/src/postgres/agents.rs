//! What agents ask.

use async_trait::async_trait;
use pipeline::{
    AgentLog, Arrival, ArtifactView, ConsumeRequest, Consumed, InboxId, Reach, Seq, StoreError,
};

use super::{Postgres, artifacts, consumes};
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

    async fn reach(&self, inbox: &InboxId) -> Result<Reach, StoreError> {
        let work = artifacts::reach(self.pool.clone(), inbox.as_str().to_owned());
        self.work.run(SHORT, work).await
    }

    fn watch(&self, inbox: &InboxId) -> Box<dyn Arrival> {
        let watch = self.arrivals.watch(inbox);
        self.listener.start();
        watch
    }
}
