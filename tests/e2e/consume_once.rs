//! A value is given out once: to one consumer, after its consume row is committed.

use std::sync::Arc;

use crate::harness::{Harness, foreign_link_delivery, on_both_profiles, otp_delivery};

on_both_profiles!(
    of_fifty_concurrent_consumers_one_gets_the_value,
    only_the_consumer_gets_the_answer_again,
    link_outside_the_allowlist_is_withheld,
);

async fn of_fifty_concurrent_consumers_one_gets_the_value(harness: Harness) {
    let harness = Arc::new(harness);
    harness
        .post(0, "msg_1", &otp_delivery("agent@inbox.test", "1", "493817"))
        .await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    let artifact = items[0]["id"].as_str().unwrap().to_owned();
    let consumers: Vec<_> = (0..50)
        .map(|n| {
            let (harness, artifact) = (Arc::clone(&harness), artifact.clone());
            tokio::spawn(
                async move { harness.consume(&artifact, n % 2, &format!("key-{n}")).await },
            )
        })
        .collect();
    let (mut disclosed, mut refused) = (0, 0);
    for consumer in consumers {
        let answer = consumer.await.unwrap();
        match answer.status.as_u16() {
            200 => {
                assert_eq!(answer.body["value"], "493817");
                disclosed += 1;
            }
            409 => {
                assert!(!answer.body.to_string().contains("493817"));
                refused += 1;
            }
            other => panic!("{other}: {:?}", answer.body),
        }
    }
    assert_eq!((disclosed, refused), (1, 49));
    assert_eq!(harness.count("SELECT count(*) FROM consumes").await, 1);
    Arc::into_inner(harness).unwrap().end().await;
}

async fn only_the_consumer_gets_the_answer_again(harness: Harness) {
    harness
        .post(0, "msg_1", &otp_delivery("agent@inbox.test", "1", "493817"))
        .await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    let artifact = items[0]["id"].as_str().unwrap();
    let first = harness.consume(artifact, 0, "k1").await;
    assert_eq!(
        (first.status.as_u16(), &first.body["value"]),
        (200, &"493817".into())
    );
    let retry = harness.consume(artifact, 0, "k1").await;
    assert_eq!(
        (retry.status.as_u16(), &retry.body["value"]),
        (200, &"493817".into())
    );
    assert_eq!(retry.headers["idempotency-replayed"], "true");
    for (consumer, key) in [(0, "k2"), (1, "k1"), (1, "k3")] {
        let refused = harness.consume(artifact, consumer, key).await;
        assert_eq!(refused.status, 409, "consumer {consumer} with {key}");
        assert!(!refused.body.to_string().contains("493817"));
    }
    let listed = harness.items(1, "agent@inbox.test").await;
    assert_eq!(listed[0]["state"], "consumed");
    assert!(!listed[0].to_string().contains("493817"));
    harness.end().await;
}

async fn link_outside_the_allowlist_is_withheld(harness: Harness) {
    let body = foreign_link_delivery("agent@inbox.test");
    harness.post(0, "msg_1", &body).await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    assert_eq!(items[0]["verdict"], "withheld", "{}", items[0]);
    let refused = harness
        .consume(items[0]["id"].as_str().unwrap(), 0, "k1")
        .await;
    assert_eq!(refused.status, 409);
    assert!(!refused.body.to_string().contains("evil.test"));
    harness.end().await;
}
