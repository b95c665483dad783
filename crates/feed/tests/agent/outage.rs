//! The database is unavailable, or does not answer (A29).

use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::Settings;
use sqlx::{Connection, SqliteConnection};
use testkit::wait;

use crate::faulty_store::Silent;
use crate::harness::{INBOX, Server, feed_of};

#[tokio::test]
async fn requests_without_the_database_return_503_with_retry_after() {
    let server = Server::start().await;
    let id = server.store_code(INBOX, "493817").await;
    server.store.close().await;
    for answer in [
        server.read(&feed_of(INBOX, "")).await,
        server.read(&feed_of(INBOX, "?wait=50")).await,
        server.read(&format!("/v1/events?inbox={INBOX}")).await,
        server.consume("a", &id, "k1").await,
    ] {
        let body = answer.problem(503, "temporarily-unavailable");
        assert_eq!(body["retryable"], true);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(server.meters.waiting.get(), 0);
}

#[tokio::test]
async fn hanging_database_returns_503_and_the_retry_gets_the_value() {
    let server = Server::start().await;
    let id = server.store_code(INBOX, "493817").await;
    let path = server.dir.path().join("feed.db");
    let url = format!("sqlite:{}", path.display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();

    let begun = Instant::now();
    let hung = server.consume("a", &id, "k1").await;
    // The documented bound is 3 s; the rest is for a busy machine. The lock itself would
    // hold for ever.
    assert!(begun.elapsed() < Duration::from_secs(20));
    hung.problem(503, "temporarily-unavailable");
    assert!(!hung.text.contains("493817"));

    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    // The work was not cancelled: it finished late, or the retry does it now. Either way
    // the same request gets the value.
    wait::until("the same request is answered", async || {
        let answer = server.consume("a", &id, "k1").await;
        (answer.status == 200).then_some(())
    })
    .await;
    server
        .consume("b", &id, "k2")
        .await
        .problem(409, "already-consumed");
}

#[tokio::test]
async fn store_without_a_timeout_of_its_own_returns_503() {
    let server = Server::start_over_artifacts(Settings::default(), |_| Arc::new(Silent)).await;
    let id = pipeline::ArtifactId::new().to_string();
    let path = feed_of(INBOX, "");
    let (list, consume) =
        futures_util::future::join(server.read(&path), server.consume("a", &id, "k1")).await;
    list.problem(503, "temporarily-unavailable");
    consume.problem(503, "temporarily-unavailable");
}
