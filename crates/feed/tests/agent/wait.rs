//! The bounded wait: it wakes up, it ends, and it uses a slot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::Settings;
use futures_util::future::{join, join_all};
use reqwest::Method;
use store::Store;
use testkit::wait;

use crate::faulty_store::{ArrivesDuringRead, Failing};
use crate::harness::{Answer, INBOX, OTHER_INBOX, Server, ask, feed_of, open};

/// Resolves when `count` waits are open.
pub(crate) async fn wait_until_open(server: &Server, count: i64) {
    wait::until("the waits are open", async || {
        (server.meters.waiting.get() == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn wait_returns_existing_items_at_once() {
    let server = Server::start().await;
    let id = server.store_code(INBOX, "493817").await;
    let begun = Instant::now();
    let answer = server.read(&feed_of(INBOX, "?wait=55")).await;
    assert_eq!(answer.ids(), [id]);
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn wait_wakes_for_its_own_inbox_only() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=50");
    let wait = server.read(&path);
    let arrive = async {
        wait_until_open(&server, 1).await;
        server.store_code(OTHER_INBOX, "111111").await;
        server.store_code(INBOX, "493817").await
    };
    let (answer, id) = join(wait, arrive).await;
    assert_eq!(answer.ids(), [id]);
    assert_eq!(server.meters.waiting.get(), 0);
}

#[tokio::test]
async fn item_that_arrives_during_the_read_is_returned() {
    let front = |store: &Store| ArrivesDuringRead::over(store.clone());
    let server = Server::start_over_artifacts(Settings::default(), front).await;
    let answer = server.read(&feed_of(INBOX, "?wait=5")).await;
    assert_eq!(answer.ids().len(), 1);
}

#[tokio::test]
async fn slot_of_a_disconnected_client_is_freed_after_its_timeout() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=2");
    let request = server
        .bare(Method::GET, &path)
        .bearer_auth(server.token("a"));
    let gone = async {
        let sent = tokio::time::timeout(Duration::from_millis(300), request.send()).await;
        assert!(sent.is_err(), "the wait was answered");
    };
    join(gone, wait_until_open(&server, 1)).await;
    wait_until_open(&server, 0).await;
}

#[tokio::test]
async fn all_waits_of_an_inbox_wake() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=50");
    let waits = join_all((0..20).map(|_| server.read(&path)));
    let arrive = async {
        wait_until_open(&server, 20).await;
        server.store_code(INBOX, "493817").await
    };
    let (answers, id) = join(waits, arrive).await;
    for answer in answers {
        assert_eq!(answer.ids(), [id.as_str()]);
    }
}

#[tokio::test]
async fn wait_that_times_out_returns_the_same_cursor() {
    let server = Server::start().await;
    server.store_code(INBOX, "493817").await;
    let cursor = server.read(&feed_of(INBOX, "")).await.cursor();
    let begun = Instant::now();
    let answer = server
        .read(&feed_of(INBOX, &format!("?wait=1&after={cursor}")))
        .await;
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(answer.ids().is_empty());
    assert_eq!(answer.cursor(), cursor);
    assert_eq!(server.meters.waiting.get(), 0);
}

#[tokio::test]
async fn preferred_wait_is_reduced_to_the_limit() {
    let settings = Settings {
        wait_limit: Duration::from_secs(1),
        ..Settings::default()
    };
    let server = Server::start_with(settings).await;
    let prefer = async |preference: &str| -> Answer {
        let request = server.bare(Method::GET, &feed_of(INBOX, ""));
        let request = request.bearer_auth(server.token("a"));
        ask(request.header("Prefer", preference)).await
    };
    let granted = prefer("respond-async, wait=3600").await;
    assert!(granted.ids().is_empty());
    assert_eq!(granted.header("preference-applied"), Some("wait=1"));
    let ignored = prefer("wait=soon").await;
    assert_eq!(ignored.header("preference-applied"), None);
    // A parameter over the limit is refused (A13).
    let refused = server.read(&feed_of(INBOX, "?wait=2")).await;
    refused.problem(400, "invalid-parameter");
}

#[tokio::test]
async fn stopping_process_answers_every_wait() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=55");
    let begun = Instant::now();
    let waits = join_all((0..3).map(|_| server.read(&path)));
    let end = async {
        wait_until_open(&server, 3).await;
        server.stop().await;
    };
    let (answers, ()) = join(waits, end).await;
    for answer in answers {
        assert!(answer.ids().is_empty());
        assert!(!answer.cursor().is_empty());
    }
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn key_with_too_many_waits_returns_429() {
    let settings = Settings {
        max_waits: 3,
        ..Settings::default()
    };
    let server = Server::start_with(settings).await;
    let path = feed_of(INBOX, "?wait=50");
    let waits = join_all((0..3).map(|_| server.read(&path)));
    let crowd = async {
        wait_until_open(&server, 3).await;
        // A14.
        let refused = server.read(&path).await;
        let body = refused.problem(429, "too-many-waits");
        assert_eq!(body["retryable"], true);
        assert_eq!(refused.header("retry-after"), Some("1"));
        // A read without a wait, and a wait of another key, still work.
        assert_eq!(server.read(&feed_of(INBOX, "")).await.status, 200);
        let other = server.read_as("b", &feed_of(INBOX, "?wait=1")).await;
        assert_eq!(other.status, 200);
        server.store_code(INBOX, "493817").await
    };
    let (answers, id) = join(waits, crowd).await;
    for answer in answers {
        assert_eq!(answer.ids(), [id.as_str()]);
    }
    // The slots are free again.
    assert_eq!(server.read(&path).await.ids().len(), 1);
}

/// A feed over a store that can be made to fail.
pub(crate) async fn server_with_failing_store() -> (Server, Arc<Failing>) {
    let (dir, mut store) = open().await;
    let failing = Failing::over(store.clone());
    store.agents = Arc::<Failing>::clone(&failing);
    store.attempts = Arc::<Failing>::clone(&failing);
    (Server::start_over(dir, store), failing)
}

#[tokio::test]
async fn wait_survives_a_short_store_outage() {
    let (server, database) = server_with_failing_store().await;
    let path = feed_of(INBOX, "?wait=50");
    let wait = server.read(&path);
    let arrive = async {
        database.read_times(1).await;
        database.fail(2);
        server.store_code(INBOX, "493817").await
    };
    let (answer, id) = join(wait, arrive).await;
    assert_eq!(answer.ids(), [id]);
    assert!(database.has_recovered());
}

#[tokio::test]
async fn wait_returns_503_if_the_store_is_still_unavailable_at_the_end() {
    let (server, database) = server_with_failing_store().await;
    let path = feed_of(INBOX, "?wait=2");
    let wait = server.read(&path);
    let arrive = async {
        database.read_times(1).await;
        database.fail(usize::MAX);
        server.store_code(INBOX, "493817").await;
    };
    let (answer, ()) = join(wait, arrive).await;
    answer.problem(503, "temporarily-unavailable");
    // A new wait returns 503 at once.
    let begun = Instant::now();
    let answer = server.read(&feed_of(INBOX, "?wait=50")).await;
    answer.problem(503, "temporarily-unavailable");
    assert!(begun.elapsed() < Duration::from_secs(45));
}
