//! The outbox: claiming sends, dispatching them and writing what became of them. Claim
//! and dispatch are two commits.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ClaimedSend, ExpiredLeases, InboxWatch, Outbox, SendClaim, SendCount, SendPermit, SendResult,
    SendState, SendWritten, SenderName, Settlement, StoreError,
};

use super::Sends;
use super::dispatch::{Dispatching, Ended, dispatch_all, end_all};
use super::event::outbox_of;
use super::{claim, expire, settle};
use crate::backend::{Backend, Sql, query};
use crate::combine::TimeLimit;
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::{count, span};
use crate::uncancelled::{LONG, SHORT};

#[async_trait]
impl<B: Backend> Outbox for Sends<B> {
    async fn claim_ready(
        &self,
        senders: &[SenderName],
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<ClaimedSend>, StoreError> {
        let senders = names(senders);
        self.database
            .run(SHORT, move |session| {
                claim::claim(session, claim::Claimable::Ready, senders, limit, lease)
            })
            .await
    }

    fn watch_ready(&self, sender: &SenderName) -> Box<dyn InboxWatch> {
        self.database.session.backend.watch();
        self.database
            .session
            .watches
            .watch_name(&outbox_of(sender.as_str()))
    }

    async fn dispatch(
        &self,
        claim: SendClaim,
        timeout: Duration,
    ) -> Result<SendPermit, StoreError> {
        let limit = TimeLimit::of_call(SHORT);
        let dispatching = Dispatching { claim, timeout };
        let dispatches = &self.dispatches;
        dispatches
            .call(&self.database, limit, dispatching, dispatch_all)
            .await
    }

    async fn end_dispatch(
        &self,
        claim: SendClaim,
        result: SendResult,
    ) -> Result<SendWritten, StoreError> {
        let limit = TimeLimit::of_call(LONG);
        let ended = Ended { claim, result };
        self.ends.call(&self.database, limit, ended, end_all).await
    }

    async fn expire_leases(&self) -> Result<ExpiredLeases, StoreError> {
        self.database.run(LONG, expire::expire).await
    }

    async fn claim_uncertain(
        &self,
        senders: &[SenderName],
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<ClaimedSend>, StoreError> {
        let senders = names(senders);
        self.database
            .run(SHORT, move |session| {
                claim::claim(session, claim::Claimable::Uncertain, senders, limit, lease)
            })
            .await
    }

    async fn permit_replay(
        &self,
        claim: SendClaim,
        timeout: Duration,
        window: Duration,
    ) -> Result<SendPermit, StoreError> {
        self.database
            .run(SHORT, move |session| {
                settle::permit_replay(session, claim, timeout, window)
            })
            .await
    }

    async fn settle(
        &self,
        claim: SendClaim,
        settlement: Settlement,
    ) -> Result<SendWritten, StoreError> {
        self.database
            .run(LONG, move |session| {
                settle::settle(session, claim, settlement)
            })
            .await
    }

    async fn count_sends(&self) -> Result<Vec<SendCount>, StoreError> {
        self.database.run(SHORT, count_states).await
    }
}

fn names(senders: &[SenderName]) -> Vec<String> {
    senders.iter().map(ToString::to_string).collect()
}

/// A guard whose lease is over is `uncertain`, also when no process has stored it.
async fn count_states<B: Backend>(session: Session<B>) -> Result<Vec<SendCount>, Fault> {
    let rows: Vec<(String, i64, i64)> = query::<B>(Sql {
        postgres: "SELECT CASE WHEN kind = 'guard' AND state = 'dispatched'
                                    AND lease_until <= now()
                               THEN 'uncertain' ELSE state END AS shown,
                          count(*),
                          (extract(epoch FROM now() - min(created_at)) * 1000)::bigint
                   FROM sends
                   WHERE state IN ('held', 'ready', 'claimed', 'dispatched', 'uncertain')
                   GROUP BY shown",
        sqlite: "SELECT CASE WHEN kind = 'guard' AND state = 'dispatched'
                                  AND lease_until <= (SELECT now FROM clock)
                             THEN 'uncertain' ELSE state END AS shown,
                        count(*), (SELECT now FROM clock) - min(created_at)
                 FROM sends
                 WHERE state IN ('held', 'ready', 'claimed', 'dispatched', 'uncertain')
                 GROUP BY shown",
    })
    .fetch_all(&mut *session.reader().await?)
    .await?;
    let counts = rows.into_iter().map(|(state, number, oldest)| {
        Ok(SendCount {
            state: SendState::from_word(&state).ok_or(Fault::Damaged("state"))?,
            count: count(number),
            oldest: span(oldest),
        })
    });
    counts.collect()
}
