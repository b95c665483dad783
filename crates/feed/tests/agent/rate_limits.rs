//! Rate limits (A14).

use std::num::NonZeroU32;

use feed::{Budgets, Settings};
use pipeline::ArtifactId;
use reqwest::Method;

use crate::harness::{Answer, INBOX, Server, ask, feed_of};

async fn with_budgets(change: impl FnOnce(&mut Budgets)) -> Server {
    let mut settings = Settings::default();
    change(&mut settings.budgets);
    Server::start_with(settings).await
}

fn limited(answer: &Answer, policy: &str) {
    let body = answer.problem(429, "rate-limited");
    assert_eq!(body["retryable"], true);
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds));
    let state = answer.header("ratelimit").unwrap();
    assert!(
        state.starts_with(&format!("\"{policy}\";r=0;t=")),
        "{state}"
    );
}

const FIVE: NonZeroU32 = NonZeroU32::new(5).unwrap();

#[tokio::test]
async fn key_over_its_read_limit_returns_429_with_retry_after() {
    let server = with_budgets(|budgets| budgets.reads = FIVE).await;
    let path = feed_of(INBOX, "");
    for left in (0..5).rev() {
        let answer = server.read(&path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.header("ratelimit-policy"),
            Some("\"reads\";q=5;w=60")
        );
        let state = answer.header("ratelimit").unwrap();
        assert!(
            state.starts_with(&format!("\"reads\";r={left};")),
            "{state}"
        );
    }
    limited(&server.read(&path).await, "reads");
    // Another key and another kind of request have their own budgets.
    assert_eq!(server.read_as("b", &path).await.status, 200);
    let unknown = ArtifactId::new().to_string();
    let consumed = server.consume("a", &unknown, "k").await;
    consumed.problem(404, "not-found");
    assert!(
        consumed
            .header("ratelimit")
            .unwrap()
            .starts_with("\"consumes\"")
    );
}

#[tokio::test]
async fn failed_consumes_are_limited_and_valid_ones_are_not() {
    let server = with_budgets(|budgets| budgets.failed_consumes = FIVE).await;
    let right = server.store_code(INBOX, "493817").await;
    for n in 0..5 {
        let unknown = ArtifactId::new().to_string();
        let guess = server.consume("a", &unknown, &format!("k{n}")).await;
        guess.problem(404, "not-found");
    }
    let unknown = ArtifactId::new().to_string();
    limited(
        &server.consume("a", &unknown, "k5").await,
        "failed-consumes",
    );
    assert_eq!(server.consume("a", &right, "k6").await.status, 200);
}

#[tokio::test]
async fn unauthenticated_requests_over_the_limit_return_429_and_valid_keys_200() {
    let server = with_budgets(|budgets| budgets.unauthenticated = FIVE).await;
    let path = feed_of(INBOX, "");
    for _ in 0..5 {
        let answer = server.read_with("mlk_wrong", &path).await;
        answer.problem(401, "unauthenticated");
        assert!(answer.header("ratelimit").is_some());
    }
    limited(
        &server.read_with("mlk_wrong", &path).await,
        "unauthenticated",
    );
    assert_eq!(server.read(&path).await.status, 200);
}

#[tokio::test]
async fn every_response_has_a_rate_limit_policy() {
    let server = Server::start().await;
    for (method, path) in [(Method::GET, "/v1/none"), (Method::PUT, "/v1/attempts")] {
        let answer = ask(server.bare(method, path)).await;
        assert!(answer.status >= 400);
        let policy = answer.header("ratelimit-policy");
        assert_eq!(policy, Some("\"unauthenticated\";q=120;w=60"));
    }
}
