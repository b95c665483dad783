//! Outages of our own database: they delay a delivery and are never held against it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Claim, Claimed, Completed, DeliveryId, Expectation, Finished, InboxId, Processed, Reason,
    StoreError, WorkLog,
};

use crate::fixture::{Fixture, otp_mail, payload};

/// More failures than a delivery has attempts.
const FAILURES: u32 = 8;

/// A real database in which one operation fails a number of times.
struct Failing {
    work: Arc<dyn WorkLog>,
    fails: fn(Operation) -> bool,
    left: AtomicU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Expect,
    Complete,
}

impl Failing {
    fn check(&self, operation: Operation) -> Result<(), StoreError> {
        let count = |left: u32| left.checked_sub(1);
        let order = Ordering::SeqCst;
        if (self.fails)(operation) && self.left.fetch_update(order, order, count).is_ok() {
            return Err(StoreError::Unavailable("a test asked for it".into()));
        }
        Ok(())
    }
}

#[async_trait]
impl WorkLog for Failing {
    async fn claim(&self, delivery: DeliveryId, lease: Duration) -> Result<Claimed, StoreError> {
        self.work.claim(delivery, lease).await
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<Completed, StoreError> {
        self.work.extend(claim, lease).await
    }

    async fn count_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        self.work.count_attempt(claim).await
    }

    async fn uncount_attempt(&self, claim: &Claim) -> Result<Completed, StoreError> {
        self.work.uncount_attempt(claim).await
    }

    async fn expectations(&self, addresses: &[InboxId]) -> Result<Vec<Expectation>, StoreError> {
        self.check(Operation::Expect)?;
        self.work.expectations(addresses).await
    }

    async fn complete(
        &self,
        claim: Claim,
        processed: Processed,
    ) -> Result<Completed<Finished>, StoreError> {
        self.check(Operation::Complete)?;
        self.work.complete(claim, processed).await
    }

    async fn retry_later(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        self.work.retry_later(claim, wait, why).await
    }

    async fn retry_uncounted(
        &self,
        claim: Claim,
        wait: Duration,
        why: Reason,
    ) -> Result<Completed, StoreError> {
        self.work.retry_uncounted(claim, wait, why).await
    }

    async fn dead_letter(&self, claim: Claim, why: Reason) -> Result<Completed, StoreError> {
        self.work.dead_letter(claim, why).await
    }
}

/// Processes one delivery while an operation of the database fails more often than a
/// delivery has attempts.
async fn process_while(fails: fn(Operation) -> bool) {
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    assert!(deps.settings.backoff.attempts < FAILURES);
    deps.work = Arc::new(Failing {
        work: Arc::clone(&deps.work),
        fails,
        left: AtomicU32::new(FAILURES),
    });
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    fixture.record("one", &body).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert!(dead_letters.is_empty(), "{dead_letters:?}");
}

#[tokio::test]
async fn delivery_survives_more_failed_reads_than_it_has_attempts() {
    process_while(|operation| operation == Operation::Expect).await;
}

#[tokio::test]
async fn delivery_survives_more_failed_commits_than_it_has_attempts() {
    process_while(|operation| operation == Operation::Complete).await;
}

#[tokio::test]
async fn delivery_dead_lettered_for_our_outage_is_requeued_at_start() {
    let fixture = Fixture::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let id = fixture.record("one", &body).await;
    let claimed = fixture.store.work.claim(id, Duration::from_mins(1)).await;
    let Claimed::Yours(claim, _) = claimed.unwrap() else {
        panic!("not claimed");
    };
    let why = Reason::new("store_unavailable");
    fixture.store.work.dead_letter(claim, why).await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let deps = Arc::clone(&fixture.deps);
    let working = tokio::spawn(worker::run(deps, fixture.queue.bell(), stop.clone()));
    testkit::wait::until("the dead letter is processed", || async {
        (fixture.items("agent@inbox.test").await.len() == 1).then_some(())
    })
    .await;
    stop.cancel();
    working.await.unwrap();
}
