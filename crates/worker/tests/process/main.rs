//! The worker on a real database and a real (in-process) queue.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a scenario that cannot go on fails"
)]

mod attacks;
mod callback;
mod fetched;
mod fixture;
mod lists;
mod payload_rows;
mod rules;
mod senders;
mod sns;
mod store_outage;
mod unopened;

use std::sync::Arc;
use std::time::Duration;

use fixture::{Fixture, nested, otp_mail, payload};
use pipeline::{ArtifactKind, Claimed, Recorded};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn recorded_delivery_becomes_one_usable_code() {
    let fixture = Fixture::open().await;
    fixture
        .record(
            "one",
            &payload("agent@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    fixture.work_until_idle().await;
    let items = fixture.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind, ArtifactKind::Code);
    assert_eq!(items[0].verdict.as_str(), "usable");
    assert_eq!(items[0].sender.as_deref(), Some("no-reply@example.com"));
}

#[tokio::test]
async fn same_mail_in_two_deliveries_is_one_message_and_one_artifact() {
    // In the second mail there is no code, so only the message key can collapse it.
    for mail in [otp_mail("1", "493817"), otp_mail("1", "on its way")] {
        let fixture = Fixture::open().await;
        let body = payload("agent@inbox.test", &mail);
        fixture.record("one", &body).await;
        fixture.record("two", &body).await;
        fixture.work_until_idle().await;
        assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
    }
}

#[tokio::test]
async fn same_code_mailed_again_is_the_same_artifact() {
    let fixture = Fixture::open().await;
    fixture
        .record(
            "one",
            &payload("agent@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    fixture
        .record(
            "two",
            &payload("agent@inbox.test", &otp_mail("2", "493817")),
        )
        .await;
    fixture
        .record(
            "three",
            &payload("agent@inbox.test", &otp_mail("3", "112358")),
        )
        .await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 2);
}

#[tokio::test]
async fn mail_to_two_inboxes_is_a_message_in_each() {
    let fixture = Fixture::open().await;
    fixture
        .record(
            "one",
            &payload("a@inbox.test\",\"b@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("a@inbox.test").await.len(), 1);
    assert_eq!(fixture.items("b@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn mail_without_a_code_leaves_an_item_with_a_reason() {
    let fixture = Fixture::open().await;
    let mail = b"From: a@example.com\r\nMessage-ID: <n@x>\r\nSubject: Hello\r\n\r\nSee you.\r\n";
    fixture
        .record("one", &payload("agent@inbox.test", mail))
        .await;
    fixture.work_until_idle().await;
    let items = fixture.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind, ArtifactKind::Nothing);
    assert!(items[0].verdict.reason().is_some());
}

#[tokio::test]
async fn deeply_nested_mail_is_dead_lettered_and_the_next_is_processed() {
    let fixture = Fixture::open().await;
    let bomb = nested(40_000);
    assert!(bomb.len() > 1_100_000, "{}", bomb.len());
    fixture
        .record("bomb", &payload("agent@inbox.test", &bomb))
        .await;
    fixture
        .record(
            "after",
            &payload("agent@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(dead_letters.len(), 1);
    assert_eq!(dead_letters[0].reason.as_str(), "too_deep");
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn undecodable_delivery_is_dead_lettered_and_can_be_requeued() {
    let fixture = Fixture::open().await;
    let id = fixture.record("one", b"not json").await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(dead_letters[0].id, id);
    assert_eq!(dead_letters[0].attempts, 1);
    assert!(fixture.store.failures.requeue(id).await.unwrap());
    fixture.work_until_idle().await;
    assert_eq!(
        fixture.store.failures.dead_letters(10).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn mail_to_an_unknown_domain_is_dead_lettered() {
    let fixture = Fixture::open().await;
    let id = fixture
        .record(
            "one",
            &payload("a@elsewhere.test", &otp_mail("1", "493817")),
        )
        .await;
    fixture.work_until_idle().await;
    let (dead_letter, body) = fixture
        .store
        .failures
        .find_dead_letter(id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(dead_letter.reason.as_str(), "inbox_unknown");
    assert!(body.is_some_and(|body| !body.is_empty()));
}

#[tokio::test]
async fn transient_failure_is_retried_and_then_dead_lettered() {
    let fixture = Fixture::open().await;
    let id = fixture.record_from("gone", "one", b"{}").await;
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(
        (dead_letters[0].id, dead_letters[0].reason.as_str()),
        (id, "source_unknown")
    );
    assert_eq!(
        dead_letters[0].attempts,
        fixture.deps.settings.backoff.attempts
    );
}

/// A mail that kills its worker cannot report a failure, but its row counts the attempts.
#[tokio::test]
async fn delivery_that_keeps_killing_its_worker_is_dead_lettered_unread() {
    let fixture = Fixture::open().await;
    let id = fixture
        .record(
            "one",
            &payload("agent@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    for _ in 0..fixture.deps.settings.backoff.attempts {
        // A worker that claims, begins to read and dies; its lease ends at once.
        let claimed = fixture.store.work.claim(id, Duration::ZERO).await.unwrap();
        let Claimed::Yours(claim, _) = claimed else {
            panic!("not claimed");
        };
        fixture.store.work.count_attempt(&claim).await.unwrap();
    }
    fixture.work_until_idle().await;
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(
        (dead_letters[0].id, dead_letters[0].reason.as_str()),
        (id, "attempts_spent")
    );
    assert!(fixture.items("agent@inbox.test").await.is_empty());
}

/// Claims are left open when a worker is killed. That is not the fault of their mails.
#[tokio::test]
async fn deliveries_whose_workers_were_killed_more_often_than_there_are_attempts_are_read() {
    let fixture = Fixture::open().await;
    let mut ids = Vec::new();
    for n in 0..6 {
        let mail = otp_mail(&n.to_string(), &(100_000 + n * 7_919).to_string());
        let body = payload("agent@inbox.test", &mail);
        ids.push(fixture.record(&n.to_string(), &body).await);
    }
    for _ in 0..4 * fixture.deps.settings.backoff.attempts {
        for id in &ids {
            let claimed = fixture.store.work.claim(*id, Duration::ZERO).await.unwrap();
            assert!(matches!(claimed, Claimed::Yours(..)));
        }
    }
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 6);
}

/// Slow work is not poison: the claim is kept while the mail waits or is read.
#[tokio::test]
async fn delivery_that_takes_many_leases_keeps_its_claim() {
    let mut fixture = Fixture::open().await;
    let lease = Duration::from_secs(2);
    Arc::get_mut(&mut fixture.deps).unwrap().settings.lease = lease;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    fixture.record("one", &body).await;
    // Nothing can be read, so the delivery stays claimed.
    let blocked = fixture.deps.reading.write().await;
    let stop = CancellationToken::new();
    let deps = Arc::clone(&fixture.deps);
    let working = tokio::spawn(worker::run(deps, fixture.queue.bell(), stop.clone()));
    testkit::wait::until("the delivery is claimed and waits", async || {
        let backlog = fixture.store.deliveries.backlog().await.unwrap();
        backlog.overdue.is_zero().then_some(())
    })
    .await;
    // Without an extension the worker's next look would find it and claim it again.
    tokio::time::sleep(2 * lease).await;
    drop(blocked);
    testkit::wait::until("the delivery is processed", async || {
        (fixture.items("agent@inbox.test").await.len() == 1).then_some(())
    })
    .await;
    stop.cancel();
    working.await.unwrap();
    let lost = fixture.deps.meters.processed("dev", "lost").get();
    assert_eq!(lost, 0);
}

/// A mail that may have killed its worker waits until no other mail is read.
#[tokio::test]
async fn suspect_is_read_alone() {
    let fixture = Fixture::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let id = fixture.record("one", &body).await;
    fixture.store.work.claim(id, Duration::ZERO).await.unwrap();
    let another_is_read = fixture.deps.reading.read().await;
    let stop = CancellationToken::new();
    let deps = Arc::clone(&fixture.deps);
    let working = tokio::spawn(worker::run(deps, fixture.queue.bell(), stop.clone()));
    testkit::wait::until("the suspect is claimed and waits", async || {
        // A waiting writer keeps further readers out.
        fixture.deps.reading.try_read().is_err().then_some(())
    })
    .await;
    assert!(fixture.items("agent@inbox.test").await.is_empty());
    drop(another_is_read);
    testkit::wait::until("the suspect is read", async || {
        (fixture.items("agent@inbox.test").await.len() == 1).then_some(())
    })
    .await;
    stop.cancel();
    working.await.unwrap();
}

/// A process that is killed soon after each start does not blame the same mail again.
#[tokio::test]
async fn suspect_with_a_counted_attempt_is_read_after_the_others() {
    let fixture = Fixture::open().await;
    for n in 0..8 {
        let to = format!("agent-{n}@inbox.test");
        let mail = otp_mail(&n.to_string(), &format!("{}", 100_000 + n * 7919));
        let id = fixture.record(&n.to_string(), &payload(&to, &mail)).await;
        let claimed = fixture.store.work.claim(id, Duration::ZERO).await;
        let Claimed::Yours(claim, _) = claimed.unwrap() else {
            panic!("not claimed");
        };
        if n == 0 {
            fixture.store.work.count_attempt(&claim).await.unwrap();
        }
    }
    let stop = CancellationToken::new();
    let deps = Arc::clone(&fixture.deps);
    let working = tokio::spawn(worker::run(deps, fixture.queue.bell(), stop.clone()));
    testkit::wait::until("the counted one is read", async || {
        (fixture.items("agent-0@inbox.test").await.len() == 1).then_some(())
    })
    .await;
    for n in 1..8 {
        let to = format!("agent-{n}@inbox.test");
        assert_eq!(fixture.items(&to).await.len(), 1, "{n} was read later");
    }
    stop.cancel();
    working.await.unwrap();
}

#[tokio::test]
async fn delivery_whose_notification_was_lost_is_found_by_the_sweeper() {
    let fixture = Fixture::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let recorded = fixture
        .record_without_notification("dev", "one", &body)
        .await;
    assert!(matches!(recorded, Recorded::New(_)));
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 1);
}

/// Announcing all of a backlog would write each of its rows once more.
#[tokio::test]
async fn sweep_of_a_larger_backlog_announces_512_deliveries() {
    let fixture = Fixture::open().await;
    let new = (0..600).map(|n| fixture::new_delivery("dev", &n.to_string(), "text/plain", b"-"));
    let recorded = fixture.store.deliveries.record(new.collect()).await;
    assert_eq!(recorded.unwrap().len(), 600);
    testkit::wait::until("all of them are due", async || {
        (fixture.store.deliveries.due(1_000).await.ok()?.len() == 600).then_some(())
    })
    .await;
    let swept = worker::sweep(&fixture.deps).await;
    assert!(
        matches!(swept, worker::SweepOutcome::Announced(512)),
        "{swept:?}"
    );
    let left = fixture.store.deliveries.due(1_000).await.unwrap();
    assert_eq!(left.len(), 88);
}

/// A listener that never gets a notification, as during an outage of the broker.
struct SilentListener;

#[async_trait::async_trait]
impl pipeline::DoorbellListener for SilentListener {
    async fn next(&mut self) -> Option<pipeline::Notification> {
        std::future::pending().await
    }
}

/// Neither the queue nor the sweeper helps here.
#[tokio::test]
async fn worker_finds_due_deliveries_while_the_doorbell_is_silent() {
    let fixture = Fixture::open().await;
    for n in 0..20 {
        let mail = otp_mail(&n.to_string(), &format!("{}", 100_000 + n * 7919));
        let body = payload("agent@inbox.test", &mail);
        fixture
            .record_without_notification("dev", &n.to_string(), &body)
            .await;
    }
    let stop = CancellationToken::new();
    let deps = Arc::clone(&fixture.deps);
    let working = tokio::spawn(worker::run(deps, Box::new(SilentListener), stop.clone()));
    testkit::wait::until("every delivery is processed", || async {
        (fixture.items("agent@inbox.test").await.len() == 20).then_some(())
    })
    .await;
    stop.cancel();
    working.await.unwrap();
}

#[tokio::test]
async fn shutdown_finishes_work_in_progress_and_leaves_no_claim() {
    let fixture = Fixture::open().await;
    for n in 0..40 {
        let mail = otp_mail(&n.to_string(), &format!("{}", 100_000 + n * 7919));
        fixture
            .record(&n.to_string(), &payload("agent@inbox.test", &mail))
            .await;
    }
    fixture.work_until(|done| done > 0).await;
    assert_eq!(fixture.held_claims().await, 0);
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("agent@inbox.test").await.len(), 40);
}
