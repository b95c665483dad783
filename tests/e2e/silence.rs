//! What must not be said: no body, address, code or link in logs or metrics, no
//! free text of a stranger in the feed, no body on the broker.

use maillatch::deployment::Role;

use crate::harness::{Harness, on_both_profiles, payload};

on_both_profiles!(nothing_of_a_mail_reaches_logs_metrics_or_the_feed);

const CANARIES: [&str; 6] = [
    "CanarySubject",
    "CanaryBody",
    "CanaryName",
    "canary-local",
    "738291",
    "canarytoken0123456789abcdef",
];

async fn nothing_of_a_mail_reaches_logs_metrics_or_the_feed(harness: Harness) {
    let mail = "From: CanaryName <no-reply@example.com>\r\n\
        To: canary-local@inbox.test\r\nMessage-ID: <c@example.com>\r\n\
        Subject: CanarySubject verification\r\n\r\n\
        CanaryBody. Your verification code is 738291.\r\n\
        Or open https://example.com/verify?token=canarytoken0123456789abcdef\r\n";
    harness
        .post(
            0,
            "msg_1",
            &payload("canary-local@inbox.test", mail.as_bytes()),
        )
        .await;
    harness
        .post(1, "msg_2", b"CanaryBody is not even JSON")
        .await;
    let items = harness.until_items("canary-local@inbox.test", 1).await;
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state = 'buried'", 1)
        .await;
    let consumed = harness
        .consume(items[0]["id"].as_str().unwrap(), 0, "k1")
        .await;
    assert_eq!(consumed.body["value"], "738291");
    let feed = serde_json::to_string(&items).unwrap();
    let mut said = harness.deployment.logs().unwrap();
    for role in [Role::Webhook, Role::Worker, Role::Feed] {
        said.push_str(harness.ask(role, "metrics").await.body.as_str().unwrap());
    }
    assert!(
        said.contains("maillatch_deliveries_total"),
        "there are metrics to look at"
    );
    assert!(said.contains("delivery done"), "there are logs to look at");
    for canary in CANARIES {
        assert!(!said.contains(canary), "{canary} was logged or metered");
        assert!(!feed.contains(canary), "{canary} reached the feed");
    }
    harness.end().await;
}
