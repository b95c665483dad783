//! Duplicates: one row at each of the three layers.

use crate::harness::{Harness, on_both_profiles, otp_delivery, otp_mail, payload};

on_both_profiles!(
    two_hundred_posts_of_one_delivery_make_one_artifact,
    reused_id_with_another_body_is_kept_as_a_conflict,
    same_mail_with_another_delivery_id_is_one_message,
);

async fn two_hundred_posts_of_one_delivery_make_one_artifact(harness: Harness) {
    let harness = std::sync::Arc::new(harness);
    let body = otp_delivery("agent@inbox.test", "1", "493817");
    // 32 connections, each with its posts one after another.
    let senders: Vec<_> = (0..32)
        .map(|sender| {
            let (harness, body) = (std::sync::Arc::clone(&harness), body.clone());
            let posts = if sender < 8 { 7 } else { 6 };
            tokio::spawn(async move {
                let mut words = Vec::new();
                for post in 0..posts {
                    let answer = harness.post(sender + post, "msg_same", &body).await;
                    assert_eq!(answer.status, 200, "{:?}", answer.body);
                    words.push(answer.body["status"].as_str().unwrap().to_owned());
                }
                words
            })
        })
        .collect();
    let mut words = Vec::new();
    for sender in senders {
        words.extend(sender.await.unwrap());
    }
    assert_eq!(words.len(), 200);
    assert_eq!(words.iter().filter(|word| *word == "accepted").count(), 1);
    assert_eq!(
        words.iter().filter(|word| *word == "duplicate").count(),
        199
    );
    harness.until_items("agent@inbox.test", 1).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM artifacts").await, 1);
    std::sync::Arc::into_inner(harness).unwrap().end().await;
}

async fn reused_id_with_another_body_is_kept_as_a_conflict(harness: Harness) {
    let first = otp_delivery("agent@inbox.test", "1", "493817");
    let other = otp_delivery("agent@inbox.test", "2", "271828");
    let accepted = harness.post(0, "msg_reused", &first).await;
    assert_eq!(
        (accepted.status.as_u16(), &accepted.body["status"]),
        (200, &"accepted".into())
    );
    for (post, word) in ["accepted", "duplicate", "duplicate"]
        .into_iter()
        .enumerate()
    {
        let conflict = harness.post(post, "msg_reused", &other).await;
        assert_eq!(
            (conflict.status.as_u16(), &conflict.body["status"]),
            (200, &word.into())
        );
        assert_ne!(conflict.body["delivery"], accepted.body["delivery"]);
    }
    harness.until_items("agent@inbox.test", 2).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 2);
    let marked = "SELECT count(*) FROM deliveries WHERE conflict_of IS NOT NULL";
    assert_eq!(harness.count(marked).await, 1);
    harness.end().await;
}

async fn same_mail_with_another_delivery_id_is_one_message(harness: Harness) {
    let mail = otp_mail("1", "493817");
    let with_another_hop = [b"Received: from relay.test\r\n".as_slice(), &mail].concat();
    harness
        .post(0, "msg_a", &payload("agent@inbox.test", &mail))
        .await;
    harness
        .post(1, "msg_b", &payload("agent@inbox.test", &with_another_hop))
        .await;
    harness
        .until_count("SELECT count(*) FROM deliveries WHERE state = 'done'", 2)
        .await;
    assert_eq!(harness.count("SELECT count(*) FROM messages").await, 1);
    assert_eq!(harness.count("SELECT count(*) FROM artifacts").await, 1);
    harness.end().await;
}
