//! Bodies that do not open here: they wait for their key without being counted
//! against the mail, and are then kept where an operator sees them.

use crate::desk::{Desk, new_delivery, otp_mail, payload};

#[tokio::test]
async fn a_body_whose_key_is_not_here_waits_uncounted_and_is_then_kept() {
    let desk = Desk::open().await;
    let elsewhere = desk.elsewhere().await;
    let body = payload("agent@inbox.test", &otp_mail("1", "493817"));
    let foreign = new_delivery("dev", "one", "application/json", &body);
    elsewhere.deliveries.record(vec![foreign]).await.unwrap();
    elsewhere.close().await;
    let good = payload("b@inbox.test", &otp_mail("2", "271828"));
    desk.record("two", &good).await;
    desk.work_until_idle().await;
    assert_eq!(desk.items("b@inbox.test").await.len(), 1);
    assert!(desk.items("agent@inbox.test").await.is_empty());
    let buried = desk.store.failures.dead_letters(10).await.unwrap();
    let [kept] = &buried[..] else {
        panic!("{buried:?}");
    };
    // More tries than a mail has, and none of them was counted but the last.
    assert_eq!((kept.reason.as_str(), kept.attempts), ("key_unknown", 1));
    assert!(desk.store.failures.requeue(kept.id).await.unwrap());
}
