//! Cursors that have fallen behind what is kept, or come from a database that
//! was put back: an answer that says so, and never a silent gap.

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

/// Discards every item there is.
async fn discard_items(server: &Server) {
    discard_older(server, Duration::ZERO).await;
}

/// Discards the items of mail that was received longer ago than this.
async fn discard_older(server: &Server, items: Duration) {
    let long = Duration::from_hours(1);
    let keep = RetentionPeriods {
        consumed_values: long,
        expired_values: long,
        done_bodies: long,
        dead_letter_bodies: long,
        items,
        known: long,
        consumes: long,
    };
    let retention = &server.store.retention;
    retention
        .discard(RetentionKind::Items, &keep, 100)
        .await
        .unwrap();
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
            let oldest = problem["oldest"].as_str().unwrap();
            let page = server
                .read(&feed_of(INBOX, &format!("?after={oldest}")))
                .await;
            assert_eq!(page.ids(), [new.as_str()]);
        }
    }
    let page = server.read(&feed_of(INBOX, &format!("?after={all}"))).await;
    assert_eq!(page.ids(), [new.as_str()]);
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

/// The list and the stream, asked for what comes after a cursor.
async fn all_ways(server: &Server, cursor: &str) -> [Answer; 4] {
    let events = format!("/v1/events?inbox={INBOX}");
    let came_back = server
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
        ask(came_back).await,
    ]
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
    for answer in all_ways(&restored, &ahead).await {
        answer.problem(409, "cursor-epoch-changed");
    }
}

#[tokio::test]
async fn whoever_was_here_before_the_database_was_put_back_is_told() {
    for (before, restored) in [
        (Server::start().await, Server::start().await),
        (
            Server::start_on_postgres().await,
            Server::start_on_postgres().await,
        ),
    ] {
        // What was in the backup is the same on both sides.
        let mut kept = Vec::new();
        for value in ["111111", "222222"] {
            let artifact = code(value);
            before.arrives(INBOX, artifact.clone()).await;
            kept.push(restored.arrives(INBOX, artifact).await);
        }
        let in_backup = cursor_after(&before, "?limit=1").await;
        let all_of_it = cursor_after(&before, "").await;
        for value in ["333333", "444444"] {
            before.code_arrives(INBOX, value).await;
        }
        let after_backup = cursor_after(&before, "?limit=3").await;
        let newest = cursor_after(&before, "").await;
        let mut new = Vec::new();
        for value in ["555555", "666666", "777777"] {
            new.push(restored.code_arrives(INBOX, value).await);
        }

        // Both places are there again, and other mail stands before them.
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
        // Whoever begins anew, as the answer says, misses nothing.
        assert_eq!(restored.read(&feed_of(INBOX, "")).await.ids(), all);
        before.end().await;
        restored.end().await;
    }
}

#[tokio::test]
async fn a_place_whose_item_was_discarded_does_not_get_another_one() {
    let before = Server::start().await;
    for value in ["111111", "222222"] {
        before.code_arrives(INBOX, value).await;
    }
    discard_items(&before).await;
    let behind_gone = cursor_after(&before, "").await;
    before.code_arrives(INBOX, "333333").await;
    let page = before
        .read(&feed_of(INBOX, &format!("?after={behind_gone}")))
        .await;
    assert_eq!(page.ids().len(), 1);
    let restored = Server::start().await;
    for value in ["111111", "444444", "555555"] {
        restored.code_arrives(INBOX, value).await;
    }
    for answer in all_ways(&restored, &behind_gone).await {
        answer.problem(409, "cursor-epoch-changed");
    }
}

#[tokio::test]
async fn a_hole_in_the_middle_ends_the_page_and_is_then_told() {
    for server in [Server::start().await, Server::start_on_postgres().await] {
        let mut ids = Vec::new();
        for value in ["111111", "222222"] {
            ids.push(server.code_arrives(INBOX, value).await);
        }
        let first = cursor_after(&server, "?limit=1").await;
        // The provider had this one long before it told of it, so it goes first.
        let long_ago = SystemClock.now().as_millis() - 7_200_000;
        let long_ago = Timestamp::from_millis(long_ago);
        server.arrives_late(INBOX, long_ago).await;
        let last = server.code_arrives(INBOX, "444444").await;
        discard_older(&server, Duration::from_hours(1)).await;

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
        let (told, problem) = streamed(&server, &first).await;
        assert_eq!(told, page.ids());
        assert_eq!(problem["type"], "urn:maillatch:problem:cursor-expired");
        server.end().await;
    }
}

/// What a stream from a cursor tells until it ends: the items, and the problem.
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
        if let Some(told) = event.strip_prefix("event: problem\ndata: ") {
            problem = serde_json::from_str(told).unwrap();
        }
    }
    (ids, problem)
}
