//! Outages of the broker and of the database.

use std::time::Duration;

use maillatch::deployment::Role;
use testkit::server::{Server, shared_url};
use tokio::time::Instant;

use crate::harness::{Harness, otp_delivery};

/// A new database on the shared server.
async fn fresh_database() -> String {
    let mut url = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    url.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
    store::create_database(&url.as_str().into()).await.unwrap();
    url.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_outage_delays_processing_by_seconds_and_changes_no_answer() {
    let mut broker = Server::rabbitmq();
    let harness = Harness::on_servers(&fresh_database().await, broker.url()).await;
    harness
        .post(
            0,
            "msg_before",
            &otp_delivery("agent@inbox.test", "b", "112358"),
        )
        .await;
    harness.until_items("agent@inbox.test", 1).await;
    broker.stop();
    for n in 0..40_u32 {
        let code = (100_000 + n * 7_919).to_string();
        let body = otp_delivery("agent@inbox.test", &n.to_string(), &code);
        let answer = harness.post(n as usize, &format!("msg_{n}"), &body).await;
        assert_eq!(
            answer.status, 200,
            "the broker must not matter to the answer"
        );
    }
    // The workers find the deliveries in the database.
    let posted = Instant::now();
    harness.until_items("agent@inbox.test", 41).await;
    assert!(
        posted.elapsed() < Duration::from_secs(50),
        "{:?}",
        posted.elapsed()
    );
    let ready = harness.get(Role::Webhook, "readyz").await;
    assert_eq!(ready.status, 200, "the broker is only a warning");
    broker.start();
    let body = otp_delivery("agent@inbox.test", "after", "900001");
    assert_eq!(harness.post(0, "msg_after", &body).await.status, 200);
    harness.until_items("agent@inbox.test", 42).await;
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_are_refused_in_time_while_the_database_is_down() {
    let mut database = Server::postgres();
    let harness = Harness::on_servers(database.url(), &shared_url("TEST_AMQP_URL")).await;
    harness
        .post(
            0,
            "msg_before",
            &otp_delivery("agent@inbox.test", "b", "112358"),
        )
        .await;
    harness.until_items("agent@inbox.test", 1).await;
    database.stop();
    for n in 0..4 {
        let asked = Instant::now();
        let body = otp_delivery("agent@inbox.test", "x", "493817");
        let answer = harness.post(n, "msg_refused", &body).await;
        assert_eq!(answer.status, 503);
        assert!(answer.headers.contains_key("retry-after"));
        // The documented bound is 3 s; the rest is for a busy machine.
        assert!(
            asked.elapsed() < Duration::from_secs(20),
            "{:?}",
            asked.elapsed()
        );
    }
    let consume = harness
        .consume("art_0190163d8694739b84d5ce5f46ad4f4e", 0, "k1")
        .await;
    assert_eq!(consume.status, 503);
    assert_eq!(harness.get(Role::Webhook, "readyz").await.status, 503);
    database.start();
    // The sender retries until the post is accepted.
    let deadline = Instant::now() + crate::harness::TIMEOUT;
    let body = otp_delivery("agent@inbox.test", "x", "493817");
    while harness.post(0, "msg_refused", &body).await.status != 200 {
        assert!(
            Instant::now() < deadline,
            "the database is back and posts are refused"
        );
    }
    harness.until_items("agent@inbox.test", 2).await;
    harness.end().await;
}
