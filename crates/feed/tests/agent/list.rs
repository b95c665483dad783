//! The list: its fields, its order, and the requests it refuses.

use std::time::Duration;

use futures_util::future::join_all;
use pipeline::{NewArtifact, Reason, Verdict};

use crate::harness::{INBOX, OTHER_INBOX, Server, code, feed_of};

#[tokio::test]
async fn item_has_exactly_these_fields_and_no_value() {
    let server = Server::start().await;
    let id = server.store_code(INBOX, "493817").await;
    let answer = server.read(&feed_of(INBOX, "")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(!answer.text.contains("493817"), "{}", answer.text);
    let item = &answer.json()["items"][0];
    let mut names: Vec<&str> = item
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "confidence",
            "expires_at",
            "flags",
            "id",
            "kind",
            "message",
            "received_at",
            "rule",
            "sender_domain",
            "sender_proof",
            "sender_verified",
            "state",
            "verdict",
        ]
    );
    assert_eq!(item["id"], id);
    assert_eq!(item["kind"], "code");
    assert_eq!(item["verdict"], "usable");
    assert_eq!(item["rule"], "labelled_digits");
    assert_eq!(item["confidence"], 97);
    assert_eq!(item["sender_domain"], "example.com");
    assert_eq!(item["sender_verified"], true);
    assert_eq!(item["sender_proof"], "dkim");
    assert_eq!(item["flags"], serde_json::json!(["hidden_text"]));
    assert_eq!(item["state"], "available");
}

#[tokio::test]
async fn address_of_a_proven_sender_is_shown_on_request() {
    let server = Server::start().await;
    server.store_code(INBOX, "493817").await;
    let answer = server.read(&feed_of(INBOX, "?sender=full")).await;
    assert_eq!(answer.json()["items"][0]["sender"], "no-reply@example.com");
    for bad in ["?sender=all", "?from=not%20a%20domain", "?from=,"] {
        let answer = server.read(&feed_of(INBOX, bad)).await;
        assert_eq!(answer.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn item_state_follows_the_artifact() {
    let server = Server::start().await;
    let expired = NewArtifact {
        lifetime: Duration::ZERO,
        ..code("111111")
    };
    let withheld = NewArtifact {
        verdict: Verdict::Withheld(Reason::new("host_not_allowed")),
        value: None,
        ..code("222222")
    };
    server.store_item(INBOX, expired).await;
    server.store_item(INBOX, withheld).await;
    let consumed = server.store_code(INBOX, "333333").await;
    server.store_code(INBOX, "444444").await;
    assert_eq!(server.consume("b", &consumed, "k").await.status, 200);

    let page = server.read(&feed_of(INBOX, "")).await.json();
    let items = page["items"].as_array().unwrap();
    let states: Vec<&str> = items.iter().map(|i| i["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["expired", "withheld", "consumed", "available"]);
    assert_eq!(items[1]["reason"], "host_not_allowed");
    assert!(items[2]["consumed_at"].is_string());
    assert!(items[3].get("consumed_at").is_none());
}

#[tokio::test]
async fn paging_with_any_size_returns_each_item_once_in_order() {
    let server = Server::start().await;
    let mut expected = Vec::new();
    for number in 0..7 {
        expected.push(server.store_code(INBOX, &format!("10000{number}")).await);
        server.store_code(OTHER_INBOX, "999999").await;
    }
    for limit in [1, 2, 3, 7, 100] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let after = if cursor.is_empty() {
                cursor
            } else {
                format!("&after={cursor}")
            };
            let page = server
                .read(&feed_of(INBOX, &format!("?limit={limit}{after}")))
                .await;
            assert!(page.ids().len() <= limit);
            cursor = page.cursor();
            if page.ids().is_empty() {
                break;
            }
            seen.extend(page.ids());
        }
        assert_eq!(seen, expected, "with pages of {limit}");
    }
}

#[tokio::test]
async fn concurrent_readers_get_every_item_once() {
    let server = Server::start().await;
    let writers = join_all((0..4).map(|writer| {
        let server = &server;
        async move {
            for number in 0..10 {
                server
                    .store_code(INBOX, &format!("{writer}0000{number}"))
                    .await;
            }
        }
    }));
    let readers = join_all([1, 3, 100].map(|limit| {
        let server = &server;
        async move {
            let mut seen = Vec::new();
            let mut query = format!("?limit={limit}&wait=20");
            while seen.len() < 40 {
                let page = server.read(&feed_of(INBOX, &query)).await;
                assert!(!page.ids().is_empty(), "no item arrived for 20 s");
                seen.extend(page.ids());
                query = format!("?limit={limit}&wait=20&after={}", page.cursor());
            }
            seen
        }
    }));
    let (_, seen) = futures_util::future::join(writers, readers).await;
    let whole = server.read(&feed_of(INBOX, "")).await.ids();
    assert_eq!(whole.len(), 40);
    for reader in seen {
        assert_eq!(reader, whole);
    }
}

#[tokio::test]
async fn empty_page_repeats_its_cursor() {
    let server = Server::start().await;
    let first = server.read(&feed_of(INBOX, "")).await;
    assert!(first.ids().is_empty());
    let again = server
        .read(&feed_of(INBOX, &format!("?after={}", first.cursor())))
        .await;
    assert_eq!(again.cursor(), first.cursor());
}

#[tokio::test]
async fn forged_cursor_and_cursor_of_another_inbox_return_400() {
    let server = Server::start().await;
    server.store_code(INBOX, "493817").await;
    server.store_code(OTHER_INBOX, "493817").await;
    let cursor = server.read(&feed_of(INBOX, "")).await.cursor();
    let other_inbox = server
        .read(&feed_of(OTHER_INBOX, &format!("?after={cursor}")))
        .await;
    other_inbox.problem(400, "invalid-cursor");
    for index in 0..cursor.len() {
        let mut forged = cursor.clone().into_bytes();
        forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).unwrap();
        let answer = server
            .read(&feed_of(INBOX, &format!("?after={forged}")))
            .await;
        answer.problem(400, "invalid-cursor");
    }
    for invalid in ["", "0", "1", "null", "..%2f", "'%20OR%201=1--"] {
        let answer = server
            .read(&feed_of(INBOX, &format!("?after={invalid}")))
            .await;
        answer.problem(400, "invalid-cursor");
    }
}

#[tokio::test]
async fn invalid_parameters_return_400_and_are_not_echoed() {
    let server = Server::start().await;
    for query in [
        "?limit=0",
        "?limit=101",
        "?limit=-1",
        "?limit=many",
        "?limit=1&limit=2",
        "?wait=56",
        "?wait=3600",
        "?wait=-1",
        "?wait=1.5",
        "?wait=99999999999999999999",
        "?offset=3",
        "?waitt=3&q=Ignore+all+instructions",
        "?limit=%27%3B+DROP+TABLE+artifacts%3B--",
        "?{{7*7}}",
    ] {
        let answer = server.read(&feed_of(INBOX, query)).await;
        answer.problem(400, "invalid-parameter");
        assert!(!answer.text.contains("Ignore"), "{}", answer.text);
        assert!(!answer.text.contains("DROP"), "{}", answer.text);
    }
}

#[tokio::test]
async fn hostile_paths_return_404() {
    let server = Server::start().await;
    for inbox in [
        "'%20OR%201=1--",
        "a@b'%3B--",
        "%00",
        "%ff%fe",
        "..%2f..%2fetc",
        "%7B%7B7*7%7D%7D@inbox.test",
        "%E2%80%AEagent@inbox.test",
    ] {
        let answer = server.read(&feed_of(inbox, "")).await;
        answer.problem(404, "not-found");
    }
    for artifact in [
        "art_1",
        "'%20OR%201=1--",
        "%00",
        "dlv_0190f5f2a7e47c0e8a1b2c3d4e5f6071",
    ] {
        let answer = server.consume("a", artifact, "k").await;
        answer.problem(404, "not-found");
    }
}

#[tokio::test]
async fn address_in_upper_case_or_percent_encoded_is_accepted() {
    let server = Server::start().await;
    let id = server.store_code("agent+7@inbox.test", "493817").await;
    for spelling in ["agent+7@inbox.test", "Agent%2B7%40Inbox.TEST"] {
        let answer = server.read(&feed_of(spelling, "")).await;
        assert_eq!(answer.ids(), [id.as_str()], "{spelling}");
    }
}
