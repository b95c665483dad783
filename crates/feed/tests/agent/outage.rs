//! The database is away, or does not answer (A29).

use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::Settings;
use sqlx::{Connection, SqliteConnection};
use testkit::patience;

use crate::fault::Silent;
use crate::harness::{INBOX, Server, feed_of};

#[tokio::test]
async fn without_the_database_every_answer_is_503_and_says_when_to_retry() {
    let server = Server::start().await;
    let id = server.code_arrives(INBOX, "493817").await;
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
async fn a_database_that_hangs_is_503_and_the_retry_tells_what_became_of_it() {
    let server = Server::start().await;
    let id = server.code_arrives(INBOX, "493817").await;
    let path = server.dir.path().join("feed.db");
    let url = format!("sqlite:{}", path.display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();

    let begun = Instant::now();
    let hung = server.consume("a", &id, "k1").await;
    // The promise is 3 s, the lock would hold for ever; the rest is for a busy
    // machine.
    assert!(begun.elapsed() < Duration::from_secs(4));
    hung.problem(503, "temporarily-unavailable");
    assert!(!hung.text.contains("493817"));

    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    // Nobody cancelled the work: it was done late, or the retry does it now.
    // Either way the same request is answered with the value.
    patience::until("the same request is answered", async || {
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
async fn a_store_that_forgets_its_own_deadline_is_503_all_the_same() {
    let server = Server::start_behind(Settings::default(), |_| Arc::new(Silent)).await;
    let id = pipeline::ArtifactId::new().to_string();
    let path = feed_of(INBOX, "");
    let (list, consume) =
        futures_util::future::join(server.read(&path), server.consume("a", &id, "k1")).await;
    list.problem(503, "temporarily-unavailable");
    consume.problem(503, "temporarily-unavailable");
}
