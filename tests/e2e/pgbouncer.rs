//! A deployment whose processes reach PostgreSQL through a `PgBouncer` in transaction mode.
//! Two server connections serve all of them, so the statements of one client reach
//! different servers.

use std::sync::Arc;
use std::time::Duration;

use testkit::server::{Server, shared_url};
use tokio::time::Instant;

use crate::client::HttpAnswer;
use crate::harness::{Harness, Role, otp_delivery};

const MAILS: usize = 60;

fn pgbouncer() -> Server {
    Server::pgbouncer(&shared_url("TEST_DATABASE_URL"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mail_behind_pgbouncer_is_stored_processed_and_consumed_once() {
    let pooler = pgbouncer();
    let harness = Arc::new(Harness::full_behind(pooler.url()).await);
    let mails: Vec<_> = (0..MAILS)
        .map(|number| {
            let harness = Arc::clone(&harness);
            tokio::spawn(async move { consumed_once(&harness, number).await })
        })
        .collect();
    for mail in mails {
        mail.await.unwrap();
    }
    let all = i64::try_from(MAILS).unwrap();
    assert_eq!(harness.count("SELECT count(*) FROM consumes").await, all);
    let failed = "SELECT count(*) FROM deliveries WHERE state NOT IN ('done')";
    harness.until_count(failed, 0).await;
    Arc::into_inner(harness).unwrap().end().await;
}

async fn consumed_once(harness: &Harness, number: usize) {
    let inbox = format!("agent-{number}@inbox.test");
    let (id, code) = (format!("msg_{number}"), format!("{}", 480_000 + 7 * number));
    let body = otp_delivery(&inbox, &id, &code);
    for copy in 0..2 {
        let answer = harness.post_until_accepted(copy, &id, &body).await;
        assert_eq!(answer.status, 200);
    }
    let items = harness.until_items(&inbox, 1).await;
    let artifact = items[0]["id"].as_str().unwrap();
    let answer = consume(harness, artifact, 0, &id).await;
    assert_eq!(answer.body["value"], code.as_str(), "{:?}", answer.body);
    assert_eq!(consume(harness, artifact, 1, &id).await.status, 409);
}

/// Repeats the request while the two connections are busy, as a client does.
async fn consume(harness: &Harness, artifact: &str, consumer: usize, key: &str) -> HttpAnswer {
    testkit::wait::until("an answer to a consume", async || {
        let answer = harness.consume(artifact, consumer, key).await;
        (answer.status != 503).then_some(answer)
    })
    .await
}

/// A connection that listens through the pooler would hear nothing, and the wait would
/// last to its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_behind_pgbouncer_ends_when_mail_arrives() {
    let pooler = pgbouncer();
    let harness = Harness::full_behind(pooler.url()).await;
    let (url, key) = harness.agent();
    let request = format!("{url}v1/inboxes/agent@inbox.test/artifacts?wait=50");
    let asked = Instant::now();
    let waiting = tokio::spawn(reqwest::Client::new().get(request).bearer_auth(key).send());
    let metric = "maillatch_waiting 1";
    testkit::wait::until("a wait", async || {
        let metrics = harness.all_metrics(Role::Feed).await;
        metrics.lines().any(|line| line == metric).then_some(())
    })
    .await;
    let body = otp_delivery("agent@inbox.test", "1", "493817");
    harness.post_until_accepted(0, "msg_1", &body).await;
    let answered = waiting.await.unwrap().unwrap();
    let page: serde_json::Value = answered.json().await.unwrap();
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page}");
    assert!(asked.elapsed() < Duration::from_secs(40), "not woken");
    harness.end().await;
}
