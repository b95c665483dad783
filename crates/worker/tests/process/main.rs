//! The worker on a real database and a real (in-process) queue.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a scenario that cannot go on fails"
)]

mod callback;
mod desk;
mod fetched;
mod lists;
mod payload_rows;
mod senders;
mod sns;
mod unopened;

use std::time::Duration;

use desk::{Desk, nested, otp_mail, payload};
use pipeline::{ArtifactKind, Claimed, Recorded};

#[tokio::test]
async fn a_recorded_delivery_becomes_one_usable_code() {
    let desk = Desk::open().await;
    desk.record(
        "one",
        &payload("agent@inbox.test", &otp_mail("1", "493817")),
    )
    .await;
    desk.work_until_idle().await;
    let items = desk.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind, ArtifactKind::Code);
    assert_eq!(items[0].verdict.as_str(), "usable");
    assert_eq!(items[0].sender.as_deref(), Some("no-reply@example.com"));
}

#[tokio::test]
async fn the_same_mail_in_two_deliveries_is_one_message_and_one_artifact() {
    // Without a code it is the message alone that makes two items one.
    for mail in [otp_mail("1", "493817"), otp_mail("1", "on its way")] {
        let desk = Desk::open().await;
        let body = payload("agent@inbox.test", &mail);
        desk.record("one", &body).await;
        desk.record("two", &body).await;
        desk.work_until_idle().await;
        assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
    }
}

#[tokio::test]
async fn the_same_code_mailed_again_is_the_same_artifact() {
    let desk = Desk::open().await;
    desk.record(
        "one",
        &payload("agent@inbox.test", &otp_mail("1", "493817")),
    )
    .await;
    desk.record(
        "two",
        &payload("agent@inbox.test", &otp_mail("2", "493817")),
    )
    .await;
    desk.record(
        "three",
        &payload("agent@inbox.test", &otp_mail("3", "112358")),
    )
    .await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 2);
}

#[tokio::test]
async fn a_mail_to_two_inboxes_is_a_message_in_each() {
    let desk = Desk::open().await;
    desk.record(
        "one",
        &payload("a@inbox.test\",\"b@inbox.test", &otp_mail("1", "493817")),
    )
    .await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("a@inbox.test").await.len(), 1);
    assert_eq!(desk.items("b@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn a_mail_without_a_code_leaves_an_item_that_says_why() {
    let desk = Desk::open().await;
    let mail = b"From: a@example.com\r\nMessage-ID: <n@x>\r\nSubject: Hello\r\n\r\nSee you.\r\n";
    desk.record("one", &payload("agent@inbox.test", mail)).await;
    desk.work_until_idle().await;
    let items = desk.items("agent@inbox.test").await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind, ArtifactKind::Nothing);
    assert!(items[0].verdict.reason().is_some());
}

#[tokio::test]
async fn a_nested_mail_is_buried_with_a_reason_and_the_next_is_processed() {
    let desk = Desk::open().await;
    let bomb = nested(40_000);
    assert!(bomb.len() > 1_100_000, "{}", bomb.len());
    desk.record("bomb", &payload("agent@inbox.test", &bomb))
        .await;
    desk.record(
        "after",
        &payload("agent@inbox.test", &otp_mail("1", "493817")),
    )
    .await;
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(buried.len(), 1);
    assert_eq!(buried[0].reason.as_str(), "too_deep");
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_decoded_is_buried_and_can_be_requeued() {
    let desk = Desk::open().await;
    let id = desk.record("one", b"not json").await;
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(buried[0].id, id);
    assert_eq!(buried[0].attempts, 1);
    assert!(desk.store.failures.requeue(id).await.unwrap());
    desk.work_until_idle().await;
    assert_eq!(desk.store.failures.dead_letters(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn mail_to_an_unknown_domain_is_buried_not_lost() {
    let desk = Desk::open().await;
    let id = desk
        .record(
            "one",
            &payload("a@elsewhere.test", &otp_mail("1", "493817")),
        )
        .await;
    desk.work_until_idle().await;
    let (buried, body) = desk
        .store
        .failures
        .find_dead_letter(id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(buried.reason.as_str(), "inbox_unknown");
    assert!(body.is_some_and(|body| !body.is_empty()));
}

#[tokio::test]
async fn a_transient_failure_is_tried_again_and_given_up_in_the_end() {
    let desk = Desk::open().await;
    let id = desk.record_from("gone", "one", b"{}").await;
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(
        (buried[0].id, buried[0].reason.as_str()),
        (id, "source_unknown")
    );
    assert_eq!(buried[0].attempts, desk.deps.settings.backoff.attempts);
}

/// A mail that kills its worker never gets to say so: its row does.
#[tokio::test]
async fn a_delivery_that_keeps_killing_its_worker_is_buried_unread() {
    let desk = Desk::open().await;
    let id = desk
        .record(
            "one",
            &payload("agent@inbox.test", &otp_mail("1", "493817")),
        )
        .await;
    for _ in 0..desk.deps.settings.backoff.attempts {
        // A worker that claims and dies: its lease is over at once.
        let claimed = desk.store.work.claim(id, Duration::ZERO).await.unwrap();
        assert!(matches!(claimed, Claimed::Yours(..)));
    }
    desk.work_until_idle().await;
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    assert_eq!(
        (buried[0].id, buried[0].reason.as_str()),
        (id, "attempts_spent")
    );
    assert!(desk.items("agent@inbox.test").await.is_empty());
}

#[tokio::test]
async fn a_delivery_whose_ring_was_lost_is_found_by_the_sweeper() {
    let desk = Desk::open().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let recorded = desk.record_silently("dev", "one", &body).await;
    assert!(matches!(recorded, Recorded::New(_)));
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 1);
}

#[tokio::test]
async fn a_stop_finishes_what_was_begun_and_leaves_no_claim() {
    let desk = Desk::open().await;
    for n in 0..40 {
        let mail = otp_mail(&n.to_string(), &format!("{}", 100_000 + n * 7919));
        desk.record(&n.to_string(), &payload("agent@inbox.test", &mail))
            .await;
    }
    desk.work_until(|done| done > 0).await;
    assert_eq!(desk.held_claims().await, 0);
    desk.work_until_idle().await;
    assert_eq!(desk.items("agent@inbox.test").await.len(), 40);
}
