//! Bodies that this process cannot open: they are retried without counting
//! attempts, and then dead-lettered.

use crate::fixture::{Fixture, new_delivery, otp_mail, payload};

#[tokio::test]
async fn body_with_an_unknown_seal_key_is_retried_uncounted_then_dead_lettered() {
    let fixture = Fixture::open().await;
    let other_store = fixture.with_other_seal_key().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let sealed = new_delivery("dev", "one", "application/json", &body);
    other_store.deliveries.record(vec![sealed]).await.unwrap();
    other_store.close().await;
    let good = payload("b@inbox.test", &otp_mail("2", "271828"));
    fixture.record("two", &good).await;
    fixture.work_until_idle().await;
    assert_eq!(fixture.items("b@inbox.test").await.len(), 1);
    assert!(fixture.items("agent@inbox.test").await.is_empty());
    let dead_letters = fixture.store.failures.dead_letters(10).await.unwrap();
    let [dead_letter] = &dead_letters[..] else {
        panic!("{dead_letters:?}");
    };
    // There were more tries than the attempt limit; only the last was counted.
    assert_eq!(
        (dead_letter.reason.as_str(), dead_letter.attempts),
        ("key_unknown", 1)
    );
    assert!(
        fixture
            .store
            .failures
            .requeue(dead_letter.id)
            .await
            .unwrap()
    );
}
