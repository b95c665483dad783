//! Mail that would crash a parser, and the mail after it.

use crate::harness::{Harness, on_both_profiles, otp_delivery, payload};

on_both_profiles!(deeply_nested_mail_is_dead_lettered_and_the_next_is_processed);

async fn deeply_nested_mail_is_dead_lettered_and_the_next_is_processed(harness: Harness) {
    let bomb = "Content-Type:message/rfc822\n\n"
        .repeat(40_000)
        .into_bytes();
    assert!(bomb.len() >= 1_160_000);
    let answer = harness
        .post_until_accepted(0, "msg_bomb", &payload("agent@inbox.test", &bomb))
        .await;
    assert_eq!(answer.status, 200);
    harness
        .post_until_accepted(
            1,
            "msg_after",
            &otp_delivery("agent@inbox.test", "1", "493817"),
        )
        .await;
    harness.until_items("agent@inbox.test", 1).await;
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state = 'buried'", 1)
        .await;
    let list = harness
        .command(&["failures", "list", "--json"])
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["items"][0]["reason"], "too_deep");
    assert_eq!(list["items"][0]["id"], answer.body["delivery"]);
    // Every worker is alive: each stops cleanly.
    harness.end().await;
}
