//! Cursors whose items were deleted, or from before a restore: the response says so, and
//! never skips items silently.

use std::time::Duration;

use pipeline::{Clock, RetentionKind, RetentionPeriods, SystemClock, Timestamp};
use reqwest::Method;
use serde_json::Value;

use crate::harness::{Answer, INBOX, Server, ask, code, feed_of};

async fn cursor_after(server: &Server, query: &str) -> String {
    let page = server.read(&feed_of(INBOX, query)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.json()["next_cursor"].as_str().unwrap().to_owned()
}

/// Deletes every item.
async fn delete_items(server: &Server) {
    delete_older(server, Duration::ZERO).await;
}

/// Deletes the items of mail that was received longer ago than this.
async fn delete_older(server: &Server, items: Duration) {
    let long = Duration::from_hours(1);
    let keep = RetentionPeriods {
        consumed_values: long,
        expired_values: long,
        done_bodies: long,
        dead_letter_bodies: long,
        items,
        known: long,
        consumes: long,
        send_contents: long,
        send_events: long,
        intents: long,
    };
    let retention = &server.store.retention;
    retention
        .discard(RetentionKind::Items, &keep, 100)
        .await
        .unwrap();
}

#[tokio::test]
async fn cursor_before_deleted_items_returns_410_with_the_oldest_cursor() {
    let server = Server::start().await;
    let empty = cursor_after(&server, "").await;
    for value in ["111111", "222222", "333333"] {
        server.store_code(INBOX, value).await;
    }
    let first = cursor_after(&server, "?limit=1").await;
    let all = cursor_after(&server, "").await;
    delete_items(&server).await;
    let new = server.store_code(INBOX, "444444").await;

    for old in [&empty, &first] {
        for wait in ["", "&wait=1"] {
            let answer = server
                .read(&feed_of(INBOX, &format!("?after={old}{wait}")))
                .await;
            assert_eq!(answer.status, 410, "{}", answer.text);
            let problem = answer.json();
            assert_eq!(problem["type"], "urn:maillatch:problem:cursor-expired");
            let oldest = problem["oldest"].as_str().unwrap();
            let page = server
                .read(&feed_of(INBOX, &format!("?after={oldest}")))
                .await;
            assert_eq!(page.ids(), [new.as_str()]);
        }
    }
    let page = server.read(&feed_of(INBOX, &format!("?after={all}"))).await;
    assert_eq!(page.ids(), [new.as_str()]);
    // A list without a cursor begins with the oldest item that is left.
    let page = server.read(&feed_of(INBOX, "")).await;
    assert_eq!(page.json()["items"][0]["id"], new);
}

#[tokio::test]
async fn first_cursor_after_all_items_were_deleted_is_valid() {
    let server = Server::start().await;
    server.store_code(INBOX, "111111").await;
    delete_items(&server).await;
    let cursor = cursor_after(&server, "").await;
    cursor_after(&server, &format!("?after={cursor}")).await;
}

/// The list and the stream after a cursor, in every way to ask for them.
async fn all_ways(server: &Server, cursor: &str) -> [Answer; 4] {
    let events = format!("/v1/events?inbox={INBOX}");
    let reconnected = server
        .bare(Method::GET, &events)
        .bearer_auth(server.token("a"))
        .header("Last-Event-ID", cursor);
    [
        server
            .read(&feed_of(INBOX, &format!("?after={cursor}")))
            .await,
        server
            .read(&feed_of(INBOX, &format!("?after={cursor}&wait=5")))
            .await,
        server.read(&format!("{events}&after={cursor}")).await,
        ask(reconnected).await,
    ]
}

#[tokio::test]
async fn cursor_ahead_of_the_list_returns_409() {
    let before = Server::start().await;
    for value in ["111111", "222222"] {
        before.store_code(INBOX, value).await;
    }
    let ahead = cursor_after(&before, "").await;
    // The same server secret over an older state of the database.
    let restored = Server::start().await;
    restored.store_code(INBOX, "111111").await;
    for answer in all_ways(&restored, &ahead).await {
        answer.problem(409, "cursor-epoch-changed");
    }
}

#[tokio::test]
async fn cursor_from_before_a_restore_returns_409() {
    for (before, restored) in [
        (Server::start().await, Server::start().await),
        (
            Server::start_on_postgres().await,
            Server::start_on_postgres().await,
        ),
    ] {
        // Both databases contain the items of the backup.
        let mut kept = Vec::new();
        for value in ["111111", "222222"] {
            let artifact = code(value);
            before.store_item(INBOX, artifact.clone()).await;
            kept.push(restored.store_item(INBOX, artifact).await);
        }
        let in_backup = cursor_after(&before, "?limit=1").await;
        let all_of_it = cursor_after(&before, "").await;
        for value in ["333333", "444444"] {
            before.store_code(INBOX, value).await;
        }
        let after_backup = cursor_after(&before, "?limit=3").await;
        let newest = cursor_after(&before, "").await;
        let mut new = Vec::new();
        for value in ["555555", "666666", "777777"] {
            new.push(restored.store_code(INBOX, value).await);
        }

        // Both positions exist again, with other mail before them.
        for cursor in [&after_backup, &newest] {
            for answer in all_ways(&restored, cursor).await {
                answer.problem(409, "cursor-epoch-changed");
            }
        }
        let all = [kept, new].concat();
        for (cursor, rest) in [(&in_backup, &all[1..]), (&all_of_it, &all[2..])] {
            let page = restored
                .read(&feed_of(INBOX, &format!("?after={cursor}")))
                .await;
            assert_eq!(page.ids(), rest);
        }
        // A list without a cursor, as the problem advises, misses nothing.
        assert_eq!(restored.read(&feed_of(INBOX, "")).await.ids(), all);
        before.end().await;
        restored.end().await;
    }
}

#[tokio::test]
async fn cursor_after_a_deleted_item_returns_409_when_another_item_is_there() {
    let before = Server::start().await;
    for value in ["111111", "222222"] {
        before.store_code(INBOX, value).await;
    }
    delete_items(&before).await;
    let after_deleted = cursor_after(&before, "").await;
    before.store_code(INBOX, "333333").await;
    let page = before
        .read(&feed_of(INBOX, &format!("?after={after_deleted}")))
        .await;
    assert_eq!(page.ids().len(), 1);
    let restored = Server::start().await;
    for value in ["111111", "444444", "555555"] {
        restored.store_code(INBOX, value).await;
    }
    for answer in all_ways(&restored, &after_deleted).await {
        answer.problem(409, "cursor-epoch-changed");
    }
}

#[tokio::test]
async fn gap_ends_the_page_and_the_next_page_returns_410() {
    for server in [Server::start().await, Server::start_on_postgres().await] {
        let mut ids = Vec::new();
        for value in ["111111", "222222"] {
            ids.push(server.store_code(INBOX, value).await);
        }
        let first = cursor_after(&server, "?limit=1").await;
        // The provider received this mail long ago, so it is deleted first.
        let long_ago = SystemClock.now().as_millis() - 7_200_000;
        let long_ago = Timestamp::from_millis(long_ago);
        server.store_late(INBOX, long_ago).await;
        let last = server.store_code(INBOX, "444444").await;
        delete_older(&server, Duration::from_hours(1)).await;

        let page = server.read(&feed_of(INBOX, "")).await;
        assert_eq!(page.ids(), ids);
        let page = server
            .read(&feed_of(INBOX, &format!("?after={first}")))
            .await;
        assert_eq!(page.ids(), ids.split_off(1));
        for answer in all_ways(&server, &page.cursor()).await {
            let problem = answer.problem(410, "cursor-expired");
            let oldest = problem["oldest"].as_str().unwrap();
            let rest = server
                .read(&feed_of(INBOX, &format!("?after={oldest}")))
                .await;
            assert_eq!(rest.ids(), [last.as_str()]);
        }
        let (sent, problem) = streamed(&server, &first).await;
        assert_eq!(sent, page.ids());
        assert_eq!(problem["type"], "urn:maillatch:problem:cursor-expired");
        server.end().await;
    }
}

/// The items of a stream from a cursor, and the problem it ends with.
async fn streamed(server: &Server, cursor: &str) -> (Vec<String>, Value) {
    let answer = server
        .read(&format!("/v1/events?inbox={INBOX}&after={cursor}"))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let (mut ids, mut problem) = (Vec::new(), Value::Null);
    for event in answer.text.split("\n\n") {
        if let Some((_, item)) = event.split_once("event: artifact\ndata: ") {
            let item: Value = serde_json::from_str(item).unwrap();
            ids.push(item["id"].as_str().unwrap().to_owned());
        }
        if let Some(text) = event.strip_prefix("event: problem\ndata: ") {
            problem = serde_json::from_str(text).unwrap();
        }
    }
    (ids, problem)
}
