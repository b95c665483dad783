//! Failures of our own database: an outage counts as no attempt; a refusal counts as one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Backlog, Claim, Claimed, Completed, DeliveryId, DeliveryLog, Expectation, Finished, InboxId,
    NewDelivery, Processed, Reason, Recorded, StoreError, WorkLog,
};

use crate::fixture::{Fixture, otp_mail, payload};
use crate::payload_rows::{mandrill_event, mandrill_fixture, mandrill_post};

/// More failures than a delivery has attempts.
const FAILURES: u32 = 8;

/// A real database in which one operation fails a number of times.
struct Failing {
    work: Arc<dyn WorkLog>,
    fails: fn(Operation) -> bool,
    how: fn(Box<dyn std::error::Error + Send + Sync>) -> StoreError,
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
            return Err((self.how)("a test asked for it".into()));
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
        how: StoreError::Unavailable,
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

/// Processes one delivery while the database refuses an operation each time.
async fn process_refused(fails: fn(Operation) -> bool) {
    let mut fixture = Fixture::open().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.work = Arc::new(Failing {
        work: Arc::clone(&deps.work),
        fails,
        how: StoreError::Broken,
        left: AtomicU32::new(u32::MAX),
    });
    let attempts = deps.settings.backoff.attempts;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    fixture.record("one", &body).await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    let dead_letters = dead_letters
        .iter()
        .map(|dead| (&dead.reason, dead.attempts));
    let reason = Reason::new("store_broken");
    assert_eq!(dead_letters.collect::<Vec<_>>(), [(&reason, attempts)]);
}

#[tokio::test]
async fn delivery_whose_commit_the_database_refuses_is_dead_lettered() {
    process_refused(|operation| operation == Operation::Complete).await;
}

#[tokio::test]
async fn delivery_whose_reads_the_database_refuses_is_dead_lettered() {
    process_refused(|operation| operation == Operation::Expect).await;
}

/// A real database that fails a number of times to record deliveries.
struct NotRecording {
    deliveries: Arc<dyn DeliveryLog>,
    left: AtomicU32,
}

#[async_trait]
impl DeliveryLog for NotRecording {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        let count = |left: u32| left.checked_sub(1);
        let order = Ordering::SeqCst;
        if self.left.fetch_update(order, order, count).is_ok() {
            return Err(StoreError::Unavailable("a test asked for it".into()));
        }
        self.deliveries.record(batch).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.deliveries.due(limit).await
    }

    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.deliveries.claimable(ahead, limit).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        again_after: Duration,
    ) -> Result<(), StoreError> {
        self.deliveries.mark_notified(deliveries, again_after).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.deliveries.backlog().await
    }
}

/// The time limit is for other people's servers. It must not count for our database.
#[tokio::test]
async fn mails_of_one_post_survive_an_outage_longer_than_the_limit_for_providers() {
    let mut fixture = mandrill_fixture().await;
    let deps = Arc::get_mut(&mut fixture.deps).unwrap();
    deps.settings.upstream_backoff.wall_clock = Duration::ZERO;
    deps.deliveries = Arc::new(NotRecording {
        deliveries: Arc::clone(&deps.deliveries),
        left: AtomicU32::new(2),
    });
    let mails = [("1", "493817"), ("2", "604928")];
    let events = mails.map(|(id, code)| mandrill_event("agent@inbox.test", &otp_mail(id, code)));
    let body = mandrill_post(&events);
    let form = "application/x-www-form-urlencoded";
    fixture
        .record_as("mandrill", "one", form, body.as_bytes())
        .await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 2);
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert!(dead_letters.is_empty(), "{dead_letters:?}");
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
