//! Providers that sign with private keys. The tests make the keys, and the server gets
//! the public keys.

use pipeline::{Clock, SystemClock};
use testkit::postal;
use testkit::sendgrid::{Policy, Post, envelope};

use crate::client::HttpAnswer;
use crate::harness::{Harness, otp_mail};

fn sources(policy: &Policy) -> String {
    format!(
        "source.postal = {{ provider = \"postal\", public_key = \"{}\" }}\n\
         source.sendgrid = {{ provider = \"sendgrid\", public_key = \"{}\" }}\n",
        postal::public_key(),
        policy.public_key()
    )
}

async fn from_postal(harness: &Harness, body: &str, signature: &str) -> HttpAnswer {
    let headers = [
        ("content-type", "application/json"),
        ("x-postal-signature", signature),
    ];
    let to = &harness.deployment;
    let answer = harness
        .client
        .post_to(to, "postal", &headers, body.as_bytes());
    answer.await.unwrap()
}

async fn from_sendgrid(harness: &Harness, post: &Post) -> HttpAnswer {
    let headers: Vec<(&str, &str)> = post
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let to = &harness.deployment;
    let answer = harness.client.post_to(to, "sendgrid", &headers, &post.body);
    answer.await.unwrap()
}

/// The delivery of an accepted post, new or duplicate.
fn taken(answer: &HttpAnswer, status: &str) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["status"], status, "{answer:?}");
    answer.body["delivery"].as_str().unwrap().to_owned()
}

async fn postals_posts(harness: &Harness) {
    let body = postal::mail(1, "postal@inbox.test", &otp_mail("1", "493817"));
    let signature = postal::signature(body.as_bytes());
    let first = from_postal(harness, &body, &signature).await;
    let first = taken(&first, "accepted");
    // Postal does not sign a time: a late retry has the same bytes and signature.
    let late = from_postal(harness, &body, &signature).await;
    assert_eq!(taken(&late, "duplicate"), first);
    let forged = body.replace("\"id\":1", "\"id\":2");
    assert_ne!(forged, body);
    let unsigned = from_postal(harness, &body, "").await;
    let another = from_postal(harness, &body, &postal::signature(b"another")).await;
    for answer in [
        from_postal(harness, &forged, &signature).await,
        unsigned,
        another,
    ] {
        // Postal discards mail that gets a 4xx, so a refused post gets a 503.
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.body["retryable"], false, "{answer:?}");
    }
}

async fn sendgrids_posts(harness: &Harness, policy: &Policy) {
    let raw = String::from_utf8(otp_mail("2", "271828")).unwrap();
    let envelope = envelope("sendgrid@inbox.test");
    let fields = [("envelope", envelope.as_str()), ("email", raw.as_str())];
    let now = SystemClock.now().as_seconds();
    let post = |boundary, hours_ago: i64| policy.post(&fields, boundary, now - hours_ago * 3600);
    let first = from_sendgrid(harness, &post("one", 0)).await;
    let first = taken(&first, "accepted");
    // Retries continue for three days, each with another boundary, and with the first
    // signature or a new one.
    for (boundary, hours_ago) in [("one", 0), ("two", 0), ("three", 72)] {
        let retry = from_sendgrid(harness, &post(boundary, hours_ago)).await;
        assert_eq!(taken(&retry, "duplicate"), first, "{boundary}");
    }
    let mut forged = post("one", 0);
    forged.body.extend_from_slice(b"\r\n");
    let mut restamped = post("one", 100);
    restamped.headers[1].1 = now.to_string();
    let mut unsigned = post("one", 0);
    unsigned.headers.truncate(1);
    let another = Policy::attach().post(&fields, "one", now);
    // It is not certain that a 4xx is retried, so the server never answers with one.
    for refused in [forged, restamped, unsigned, another, post("one", 100)] {
        let answer = from_sendgrid(harness, &refused).await;
        assert_eq!(answer.status, 503, "{answer:?}");
    }
}

async fn asymmetrically_signed_posts_reach_the_agent(policy: Policy, harness: Harness) {
    postals_posts(&harness).await;
    sendgrids_posts(&harness, &policy).await;
    for (inbox, code) in [
        ("postal@inbox.test", "493817"),
        ("sendgrid@inbox.test", "271828"),
    ] {
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, inbox).await;
        assert_eq!(consumed.body["value"], code);
    }
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 2);
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asymmetrically_signed_posts_reach_the_agent_on_the_embedded_profile() {
    let policy = Policy::attach();
    let harness = Harness::embedded_with(&sources(&policy)).await;
    asymmetrically_signed_posts_reach_the_agent(policy, harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asymmetrically_signed_posts_reach_the_agent_on_the_full_profile() {
    let policy = Policy::attach();
    let harness = Harness::full_with(&sources(&policy)).await;
    asymmetrically_signed_posts_reach_the_agent(policy, harness).await;
}
