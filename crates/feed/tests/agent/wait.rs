//! The bounded wait: it wakes, it ends, and it is counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::Settings;
use futures_util::future::{join, join_all};
use reqwest::Method;
use store::Store;
use testkit::patience;

use crate::fault::{Stumbling, Untimely};
use crate::harness::{Answer, INBOX, OTHER_INBOX, Server, ask, feed_of, open};

/// Resolves when `count` waits are open.
pub(crate) async fn waiting(server: &Server, count: i64) {
    patience::until("the waits are open", async || {
        (server.meters.waiting.get() == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_is_there_already_is_answered_without_waiting() {
    let server = Server::start().await;
    let id = server.code_arrives(INBOX, "493817").await;
    let begun = Instant::now();
    let answer = server.read(&feed_of(INBOX, "?wait=55")).await;
    assert_eq!(answer.ids(), [id]);
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn a_wait_wakes_when_something_arrives_and_not_for_another_inbox() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=50");
    let wait = server.read(&path);
    let arrive = async {
        waiting(&server, 1).await;
        server.code_arrives(OTHER_INBOX, "111111").await;
        server.code_arrives(INBOX, "493817").await
    };
    let (answer, id) = join(wait, arrive).await;
    assert_eq!(answer.ids(), [id]);
    assert_eq!(server.meters.waiting.get(), 0);
}

#[tokio::test]
async fn what_arrives_while_the_feed_looks_is_not_slept_through() {
    let front = |store: &Store| Untimely::over(store.clone());
    let server = Server::start_behind(Settings::default(), front).await;
    let answer = server.read(&feed_of(INBOX, "?wait=5")).await;
    assert_eq!(answer.ids().len(), 1);
}

#[tokio::test]
async fn a_client_that_went_away_holds_its_seat_no_longer_than_it_asked_for() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=2");
    let request = server
        .bare(Method::GET, &path)
        .bearer_auth(server.token("a"));
    let gone = async {
        let sent = tokio::time::timeout(Duration::from_millis(300), request.send()).await;
        assert!(sent.is_err(), "the wait was answered");
    };
    join(gone, waiting(&server, 1)).await;
    waiting(&server, 0).await;
}

#[tokio::test]
async fn every_waiter_of_an_inbox_wakes() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=50");
    let waits = join_all((0..20).map(|_| server.read(&path)));
    let arrive = async {
        waiting(&server, 20).await;
        server.code_arrives(INBOX, "493817").await
    };
    let (answers, id) = join(waits, arrive).await;
    for answer in answers {
        assert_eq!(answer.ids(), [id.as_str()]);
    }
}

#[tokio::test]
async fn a_wait_ends_at_its_deadline_with_the_same_cursor() {
    let server = Server::start().await;
    server.code_arrives(INBOX, "493817").await;
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
async fn a_wish_to_wait_is_granted_as_far_as_the_limit_goes() {
    let settings = Settings {
        wait_limit: Duration::from_secs(1),
        ..Settings::default()
    };
    let server = Server::start_with(settings).await;
    let prefer = async |wish: &str| -> Answer {
        let request = server.bare(Method::GET, &feed_of(INBOX, ""));
        let request = request.bearer_auth(server.token("a"));
        ask(request.header("Prefer", wish)).await
    };
    let granted = prefer("respond-async, wait=3600").await;
    assert!(granted.ids().is_empty());
    assert_eq!(granted.header("preference-applied"), Some("wait=1"));
    let ignored = prefer("wait=soon").await;
    assert_eq!(ignored.header("preference-applied"), None);
    // The parameter is an order, and refused (A13).
    let refused = server.read(&feed_of(INBOX, "?wait=2")).await;
    refused.problem(400, "invalid-parameter");
}

#[tokio::test]
async fn the_end_of_the_process_answers_every_wait() {
    let server = Server::start().await;
    let path = feed_of(INBOX, "?wait=55");
    let begun = Instant::now();
    let waits = join_all((0..3).map(|_| server.read(&path)));
    let end = async {
        waiting(&server, 3).await;
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
async fn one_key_cannot_take_every_seat() {
    let settings = Settings {
        max_waits: 3,
        ..Settings::default()
    };
    let server = Server::start_with(settings).await;
    let path = feed_of(INBOX, "?wait=50");
    let waits = join_all((0..3).map(|_| server.read(&path)));
    let crowd = async {
        waiting(&server, 3).await;
        // A14.
        let refused = server.read(&path).await;
        let body = refused.problem(429, "too-many-waits");
        assert_eq!(body["retryable"], true);
        assert_eq!(refused.header("retry-after"), Some("1"));
        // Reading at once and another key's wait are not in the way of it.
        assert_eq!(server.read(&feed_of(INBOX, "")).await.status, 200);
        let other = server.read_as("b", &feed_of(INBOX, "?wait=1")).await;
        assert_eq!(other.status, 200);
        server.code_arrives(INBOX, "493817").await
    };
    let (answers, id) = join(waits, crowd).await;
    for answer in answers {
        assert_eq!(answer.ids(), [id.as_str()]);
    }
    // The seats are free again.
    assert_eq!(server.read(&path).await.ids().len(), 1);
}

/// A feed over a database that can be made to stumble.
pub(crate) async fn stumbling() -> (Server, Arc<Stumbling>) {
    let (dir, mut store) = open().await;
    let stumbling = Stumbling::over(store.clone());
    store.agents = Arc::<Stumbling>::clone(&stumbling);
    store.attempts = Arc::<Stumbling>::clone(&stumbling);
    (Server::start_over(dir, store), stumbling)
}

#[tokio::test]
async fn a_store_that_is_away_for_a_moment_ends_no_wait() {
    let (server, database) = stumbling().await;
    let path = feed_of(INBOX, "?wait=50");
    let wait = server.read(&path);
    let arrive = async {
        database.looked_at(1).await;
        database.stumble(2);
        server.code_arrives(INBOX, "493817").await
    };
    let (answer, id) = join(wait, arrive).await;
    assert_eq!(answer.ids(), [id]);
    assert!(database.stands());
}

#[tokio::test]
async fn a_store_that_is_still_away_at_the_end_of_a_wait_is_told() {
    let (server, database) = stumbling().await;
    let path = feed_of(INBOX, "?wait=2");
    let wait = server.read(&path);
    let arrive = async {
        database.looked_at(1).await;
        database.stumble(usize::MAX);
        server.code_arrives(INBOX, "493817").await;
    };
    let (answer, ()) = join(wait, arrive).await;
    answer.problem(503, "temporarily-unavailable");
    // Whoever comes now is told at once.
    let begun = Instant::now();
    let answer = server.read(&feed_of(INBOX, "?wait=50")).await;
    answer.problem(503, "temporarily-unavailable");
    assert!(begun.elapsed() < Duration::from_secs(45));
}
