//! The seam of the worker. Workers process many deliveries at once, and what they all
//! do is combined: claims, look-ups of what is expected, and completions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Claim, Claimed, Completed, DeliveryId, Expectation, Finished, InboxId, Processed, Reason,
    StoreError, WorkLog,
};

use crate::backend::Backend;
use crate::backlog::Backlog;
use crate::claims::end::{self, Counted};
use crate::claims::held::{extend, set_attempts};
use crate::claims::large::LargeBodies;
use crate::claims::{self, Taken, TakenClaim, Wish};
use crate::combine::{Combiner, TimeLimit};
use crate::complete::{self, Completion};
use crate::database::Database;
use crate::expectations;
use crate::uncancelled::{LONG, SHORT};

/// How long calls wait for others while there is a backlog. Together this is less than the
/// mails of a full worker wait for the parser on two cores.
const CLAIMS_WAIT: Duration = Duration::from_millis(5);
const LOOK_UPS_WAIT: Duration = Duration::from_millis(2);
const COMPLETIONS_WAIT: Duration = Duration::from_millis(10);

/// A database, for workers.
pub(crate) struct Work<B: Backend> {
    database: Arc<Database<B>>,
    claims: Combiner<Wish, Taken<B>>,
    expectations: Combiner<Vec<InboxId>, Vec<Expectation>>,
    completions: Combiner<Completion, Completed<Finished>>,
    large: LargeBodies,
    backlog: Backlog,
}

impl<B: Backend> Work<B> {
    pub(crate) fn over(database: Arc<Database<B>>) -> Self {
        let backlog = Backlog::default();
        Self {
            database,
            claims: Combiner::waiting_in(backlog.wait(CLAIMS_WAIT)),
            expectations: Combiner::waiting_in(backlog.wait(LOOK_UPS_WAIT)),
            completions: Combiner::waiting_in(backlog.wait(COMPLETIONS_WAIT)),
            large: LargeBodies::default(),
            backlog,
        }
    }
}

#[async_trait]
impl<B: Backend> WorkLog for Work<B> {
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError> {
        let wish = Wish { delivery, lease };
        let work = self.database.work.clone();
        let take = move |session, wishes| claims::claim(session, wishes, work.clone());
        // To give up early would only delay the mail: the claim may be committed all the same.
        let limit = TimeLimit::of_work(SHORT);
        let taken = self.claims.call(&self.database, limit, wish, take);
        match taken.await? {
            Taken::Finished => Ok(Claimed::Finished),
            Taken::NotNow => Ok(Claimed::NotNow),
            Taken::Yours(taken) => {
                let TakenClaim {
                    claim,
                    row,
                    return_on_drop,
                } = *taken;
                let being_read = self.backlog.begin();
                let opened = self
                    .large
                    .open(&self.database, claim, row, being_read)
                    .await;
                // The claim of a damaged row stays: it would be claimed again and again.
                if !matches!(opened, Err(StoreError::Unavailable(_))) {
                    return_on_drop.keep();
                }
                opened
            }
        }
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<Completed, StoreError> {
        let (delivery, token) = (claim.delivery, claim.token);
        self.database
            .run(SHORT, |session| extend(session, delivery, token, lease))
            .await
    }

    async fn count_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        let counted = Counted::of(claim, claim.attempt);
        self.database
            .run(SHORT, |session| set_attempts(session, counted))
            .await
    }

    async fn uncount_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        let counted = Counted::of(claim, 0);
        self.database
            .run(SHORT, |session| set_attempts(session, counted))
            .await
    }

    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError> {
        let (database, addresses) = (&self.database, addresses.to_vec());
        self.expectations
            .call(
                database,
                TimeLimit::of_call(SHORT),
                addresses,
                expectations::expectations,
            )
            .await
    }

    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError> {
        let secrets = &self.database.session.secrets;
        let completion = Completion::seal(claim, processed, &secrets.keyring)?;
        self.completions
            .call(
                &self.database,
                TimeLimit::of_call(LONG),
                completion,
                complete::complete,
            )
            .await
    }

    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let counted = Counted::of(&claim, claim.attempt);
        self.database
            .run(LONG, |session| {
                end::retry_later(session, counted, wait, why)
            })
            .await
    }

    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        let counted = Counted::of(&claim, claim.attempt.saturating_sub(1));
        self.database
            .run(LONG, |session| {
                end::retry_later(session, counted, wait, why)
            })
            .await
    }

    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError> {
        self.database
            .run(LONG, |session| end::dead_letter(session, claim, why))
            .await
    }
}
