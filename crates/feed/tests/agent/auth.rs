//! Authentication and scopes.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use crate::harness::{INBOX, OTHER_INBOX, Server, ask, feed_of};

#[tokio::test]
async fn request_without_one_valid_bearer_key_returns_401() {
    let server = Server::start().await;
    let artifact = server.store_code(INBOX, "493817").await;
    let good = format!("Bearer {}", server.token("a"));
    let almost = format!("{good}x");
    let basic = good.replace("Bearer", "Basic");
    let bare = server.token("a").to_owned();
    // A1, A2 and A8.
    let invalid: [&[&str]; 8] = [
        &[],
        &["Bearer"],
        &["Bearer "],
        &[&basic],
        &[&bare],
        &[&almost],
        &[&good, &good],
        &["Bearer mlk_0000000000000000000000000000000000000000000"],
    ];
    for values in invalid {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        let list = server.bare(Method::GET, &feed_of(INBOX, ""));
        let consume = server
            .bare(Method::POST, &format!("/v1/artifacts/{artifact}/consume"))
            .header("Idempotency-Key", "k");
        for request in [list, consume] {
            let answer = ask(request.headers(headers.clone())).await;
            answer.problem(401, "unauthenticated");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(!answer.text.contains("493817"));
        }
    }
    assert_eq!(server.consume("a", &artifact, "k").await.status, 200);
}

#[tokio::test]
async fn key_in_the_query_returns_401_even_with_a_valid_header() {
    let server = Server::start().await;
    let token = server.token("a");
    for query in [format!("?access_token={token}"), format!("?after={token}")] {
        let path = feed_of(INBOX, &query);
        let alone = ask(server.bare(Method::GET, &path)).await;
        alone.problem(401, "unauthenticated");
        let both = server.read(&path).await;
        both.problem(401, "unauthenticated");
        assert!(!both.text.contains(token));
    }
}

#[tokio::test]
async fn inbox_of_another_key_returns_404_like_an_invalid_one() {
    let server = Server::start().await;
    server.store_code(OTHER_INBOX, "493817").await;
    let outside = server.read_as("narrow", &feed_of(OTHER_INBOX, "")).await;
    let unknown_inbox = server.read_as("narrow", &feed_of("no-address", "")).await;
    outside.problem(404, "not-found");
    assert_eq!(outside.text, unknown_inbox.text);
    assert_eq!(
        server.read_as("narrow", &feed_of(INBOX, "")).await.status,
        200
    );
    assert_eq!(
        server
            .read_as("a", &feed_of(OTHER_INBOX, ""))
            .await
            .ids()
            .len(),
        1
    );
}

#[tokio::test]
async fn artifact_of_another_key_returns_404_like_an_unknown_one() {
    let server = Server::start().await;
    let artifact = server.store_code(OTHER_INBOX, "493817").await;
    let outside = server.consume("narrow", &artifact, "k").await;
    let unknown = pipeline::ArtifactId::new().to_string();
    let unknown_inbox = server.consume("narrow", &unknown, "k").await;
    outside.problem(404, "not-found");
    assert_eq!(outside.text, unknown_inbox.text);
    // The refused request has not consumed it.
    assert_eq!(server.consume("a", &artifact, "k").await.status, 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_return_problems() {
    let server = Server::start().await;
    server.read("/v1/").await.problem(404, "not-found");
    server.read("/v1/messages").await.problem(404, "not-found");
    let posted = ask(server.bare(Method::POST, &feed_of(INBOX, ""))).await;
    posted.problem(405, "method-not-allowed");
    assert_eq!(posted.header("allow"), Some("GET"));
    let read = server.read("/v1/artifacts/art_1/consume").await;
    read.problem(405, "method-not-allowed");
    assert_eq!(read.header("allow"), Some("POST"));
}
