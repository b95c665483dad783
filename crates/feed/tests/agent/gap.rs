//! Cursors that have fallen behind what is kept, or come from a database that
//! was put back: an answer that says so, and never a silent gap.

use std::time::Duration;

use pipeline::{Keep, Waste};

use crate::harness::{INBOX, Server, feed_of};

async fn cursor_after(server: &Server, query: &str) -> String {
    let page = server.read(&feed_of(INBOX, query)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.json()["next_cursor"].as_str().unwrap().to_owned()
}

/// Discards every item there is.
async fn discard_items(server: &Server) {
    let long = Duration::from_hours(1);
    let keep = Keep {
        consumed_values: long,
        expired_values: long,
        done_bodies: long,
        buried_bodies: long,
        items: Duration::ZERO,
        known: long,
        consumes: long,
    };
    let retention = &server.store.retention;
    retention.discard(Waste::Items, &keep, 100).await.unwrap();
}

#[tokio::test]
async fn a_cursor_from_before_what_is_kept_is_gone_and_the_oldest_goes_on() {
    let server = Server::start().await;
    let empty = cursor_after(&server, "").await;
    for value in ["111111", "222222", "333333"] {
        server.code_arrives(INBOX, value).await;
    }
    let first = cursor_after(&server, "?limit=1").await;
    let all = cursor_after(&server, "").await;
    discard_items(&server).await;
    let new = server.code_arrives(INBOX, "444444").await;

    for old in [&empty, &first] {
        for wait in ["", "&wait=1"] {
            let answer = server
                .read(&feed_of(INBOX, &format!("?after={old}{wait}")))
                .await;
            assert_eq!(answer.status, 410, "{}", answer.text);
            let problem = answer.json();
            assert_eq!(problem["type"], "urn:maillatch:problem:cursor-expired");
            assert_eq!(problem["oldest"], all);
        }
    }
    let page = server.read(&feed_of(INBOX, &format!("?after={all}"))).await;
    assert_eq!(page.json()["items"][0]["id"], new);
    // Whoever begins anew begins with what there is.
    let page = server.read(&feed_of(INBOX, "")).await;
    assert_eq!(page.json()["items"][0]["id"], new);
}

#[tokio::test]
async fn whoever_begins_when_all_was_discarded_gets_a_cursor_that_holds() {
    let server = Server::start().await;
    server.code_arrives(INBOX, "111111").await;
    discard_items(&server).await;
    let cursor = cursor_after(&server, "").await;
    cursor_after(&server, &format!("?after={cursor}")).await;
}

#[tokio::test]
async fn a_cursor_from_ahead_of_the_feed_is_told_apart() {
    let before = Server::start().await;
    for value in ["111111", "222222"] {
        before.code_arrives(INBOX, value).await;
    }
    let ahead = cursor_after(&before, "").await;
    // The same server secret over an older state of the database.
    let restored = Server::start().await;
    restored.code_arrives(INBOX, "111111").await;
    let answer = restored
        .read(&feed_of(INBOX, &format!("?after={ahead}")))
        .await;
    assert_eq!(answer.status, 409, "{}", answer.text);
    let kind = &answer.json()["type"];
    assert_eq!(*kind, "urn:maillatch:problem:cursor-epoch-changed");
}
