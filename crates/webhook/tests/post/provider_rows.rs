//! Differences between providers: statuses that keep their mail, single-use tokens,
//! and checks of a new webhook.

use std::time::Duration;

use pipeline::Timestamp;
use providers::{Ask, Post, Sample, Source};
use serde_json::Value;
use testkit::sns::Sns;

use webhook::Settings;

use crate::harness::{Answer, NOW, Server, Setup, with_headers};

/// The timestamp of Mailgun's published vector.
const SIGNED_AT: i64 = 1_539_112_500;
const PROOF: &str = "timestamp=1539112500&token=7VwW7k6Ak7zcTwoSoNm7aTtbk1g67MKAnsYLfUB7PdszbgR5Xi\
    &signature=ef24c5225322217bb065b80bb54eb4f9206d764e3e16abab07f0a64d1cf477cc";

async fn mailgun(server: &Server, rest: &str) -> Answer {
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = format!("{PROOF}&{rest}");
    let request = with_headers("mailgun", &form, body.as_bytes());
    server.exchange(&request).await
}

#[tokio::test]
async fn single_use_token_accepts_the_retry_and_refuses_another_body() {
    let server = Server::start().await;
    server.clock.move_by(SIGNED_AT - NOW);
    let first = mailgun(&server, "recipient=a%40b.test&body-mime=x").await;
    assert_eq!(first.field("status"), "accepted", "{first:?}");
    server.clock.move_by(7 * 3600);
    let retry = mailgun(&server, "recipient=a%40b.test&body-mime=x").await;
    assert_eq!(retry.field("status"), "duplicate", "{retry:?}");
    let forged = mailgun(&server, "recipient=a%40b.test&body-mime=y").await;
    assert!(forged.is_problem(401, "signature-invalid"), "{forged:?}");
    assert_eq!(server.rows().await, 1);
    let meters = server.meters();
    assert!(meters.contains(r#"deliveries_total{source="mailgun",outcome="token_replayed"} 1"#));
}

#[tokio::test]
async fn p20_authentic_form_with_5000_fields_is_recorded() {
    let server = Server::start().await;
    server.clock.move_by(SIGNED_AT - NOW);
    let many = "v=1&".repeat(5000);
    let first = mailgun(&server, &format!("recipient=a%40b.test&{many}body-mime=x")).await;
    assert_eq!(first.field("status"), "accepted", "{first:?}");
    let part = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n";
    let body = format!("{}--b--\r\n", part.repeat(5000));
    let kind = [("content-type", "multipart/form-data; boundary=b")];
    let request = with_headers("sendgrid?token=a-long-token", &kind, body.as_bytes());
    let first = server.exchange(&request).await;
    assert_eq!(first.field("status"), "accepted", "{first:?}");
    assert_eq!(server.rows().await, 2);
}

#[tokio::test]
async fn same_form_with_another_boundary_is_a_duplicate() {
    let server = Server::start().await;
    let post = |boundary: &str| {
        let kind = format!("multipart/form-data; boundary={boundary}");
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=message\r\n\r\nx\r\n--{boundary}--"
        );
        let source = "cloudmailin?token=a-long-token";
        with_headers(source, &[("content-type", &kind)], body.as_bytes())
    };
    let first = server.exchange(&post("one")).await;
    assert_eq!(first.field("status"), "accepted", "{first:?}");
    let retry = server.exchange(&post("two")).await;
    assert_eq!(retry.field("status"), "duplicate", "{retry:?}");
}

#[tokio::test]
async fn provider_that_bounces_on_4xx_gets_503() {
    let server = Server::start().await;
    let json = [("content-type", "application/json")];
    for source in ["cloudmailin", "cloudmailin?token=wrong"] {
        let answer = server.exchange(&with_headers(source, &json, b"{}")).await;
        assert!(answer.is_problem(503, "signature-invalid"), "{answer:?}");
    }
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn unreadable_body_gets_503_where_a_4xx_would_lose_mail() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_timeout: Duration::from_millis(50),
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    for (source, statuses) in [
        ("cloudmailin?token=a-long-token", [503, 503, 503]),
        ("ses-sns", [503, 503, 503]),
        ("postal", [503, 503, 503]),
        ("mailgun", [415, 415, 408]),
    ] {
        let gzip = [("content-type", "text/plain"), ("content-encoding", "gzip")];
        let untyped = server.exchange(&with_headers(source, &[], b"{}")).await;
        let packed = server.exchange(&with_headers(source, &gzip, b"{}")).await;
        let slow = with_headers(source, &[("content-type", "text/plain")], b"{}");
        let slow = server.exchange(&slow[..slow.len() - 1]).await;
        for ((answer, slug), status) in [
            (untyped, "media-type"),
            (packed, "content-encoding"),
            (slow, "request-timeout"),
        ]
        .into_iter()
        .zip(statuses)
        {
            assert!(answer.is_problem(status, slug), "{source} {answer:?}");
        }
    }
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn webhook_challenge_is_answered_for_its_provider_only() {
    let server = Server::start().await;
    let get = |path: &str| format!("GET /hooks/{path} HTTP/1.1\r\nhost: test\r\n\r\n");
    let challenge = server
        .exchange(get("nylas?challenge=abc-1").as_bytes())
        .await;
    assert_eq!((challenge.status, challenge.body.as_str()), (200, "abc-1"));
    assert!(challenge.has_header("content-type: text/plain"));
    for path in [
        "nylas",
        "nylas?challenge=%3Cb%3E",
        "main?challenge=abc",
        "none?challenge=a",
    ] {
        let answer = server.exchange(get(path).as_bytes()).await;
        assert!(
            answer.is_problem(405, "method-not-allowed"),
            "{path} {answer:?}"
        );
    }
}

/// Two signed posts with the same provider id and different bodies.
fn two_contents(server: &Server, name: &str) -> [Vec<u8>; 2] {
    let at = Timestamp::from_millis(NOW * 1000);
    let source = server.sources.get(name).expect("the source");
    ["493817", "271828"].map(|text| {
        if name == "ses-sns" {
            let sns = Sns::at("https://sns.eu-west-1.amazonaws.com");
            let body = sns.mail("m-1", "agent@inbox.test", text.as_bytes(), at);
            let kind = [("content-type", "text/plain; charset=UTF-8")];
            return with_headers(name, &kind, body.as_bytes());
        }
        let post = source.sample(&Sample {
            id: "sample1",
            at,
            from: "shop@sender.test",
            recipient: "agent@inbox.test",
            subject: "Your code",
            text,
        });
        let post = post.expect("a sample");
        let headers = post.headers.iter();
        let headers: Vec<(&str, &str)> = headers.map(|(n, v)| (n.as_str(), v.as_str())).collect();
        with_headers(name, &headers, &post.body)
    })
}

#[tokio::test]
async fn one_id_with_two_signed_bodies_records_both() {
    let server = Server::start().await;
    let mut rows = 0;
    for name in [
        "agentmail",
        "cloudflare",
        "mailersend",
        "nylas",
        "relay",
        "ses-sns",
        "standard-webhooks",
    ] {
        let [one, two] = two_contents(&server, name);
        let first = server.exchange(&one).await;
        assert_eq!(first.field("status"), "accepted", "{name} {first:?}");
        assert_eq!(first.field("conflict"), Value::Null, "{name}");
        let other = server.exchange(&two).await;
        assert_eq!(other.status, 200, "{name}");
        assert_eq!(other.field("conflict"), true, "{name} {other:?}");
        assert_ne!(other.field("delivery"), first.field("delivery"), "{name}");
        // A retry of either one is a duplicate of its own row.
        for (post, answer) in [(&one, &first), (&two, &other)] {
            let again = server.exchange(post).await;
            assert_eq!(again.field("status"), "duplicate", "{name} {again:?}");
            assert_eq!(again.field("delivery"), answer.field("delivery"), "{name}");
        }
        rows += 2;
        assert_eq!(server.rows().await, rows, "{name}");
    }
}

async fn send(server: &Server, source: &Source, post: &Post) -> Answer {
    let target = match &post.query {
        Some(query) => format!("{}?{query}", source.name()),
        None => source.name().to_string(),
    };
    let headers: Vec<(&str, &str)> = post
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    server
        .exchange(&with_headers(&target, &headers, &post.body))
        .await
}

/// The same post, forged without the secret.
fn forged(mut post: Post) -> Post {
    match (post.query.as_mut(), post.headers.len()) {
        (Some(query), _) => query.push('x'),
        (None, 1) => {
            let body = String::from_utf8(post.body).expect("text");
            post.body = body.replace("token=", "token=x").into_bytes();
        }
        (None, _) => post.body.push(b'x'),
    }
    post
}

#[tokio::test]
async fn each_providers_post_is_recorded_once_and_a_forged_one_never() {
    let server = Server::start().await;
    let sample = Sample {
        id: "sample1",
        at: Timestamp::from_millis(NOW * 1000),
        from: "shop@sender.test",
        recipient: "agent@inbox.test",
        subject: "Your code",
        text: "Your code is 493817.",
    };
    let sources = std::sync::Arc::clone(&server.sources);
    let mut rows = 0;
    // The other providers sign with keys that only they have, or never post.
    let can_sign = |source: &&Source| source.contract().asks.iter().any(Ask::can_sign);
    // `listed` only accepts posts from other addresses.
    let can_post = |source: &&Source| can_sign(source) && source.name().as_str() != "listed";
    for source in sources.iter().filter(can_post) {
        let name = source.name().as_str();
        let post = source.sample(&sample).expect("a sample");
        let refused_post = send(&server, source, &forged(post.clone())).await;
        let status = source.answers().unproven;
        assert!(
            refused_post.is_problem(status, "signature-invalid"),
            "{name} {refused_post:?}"
        );
        assert_eq!(server.rows().await, rows, "{name}");

        let first = send(&server, source, &post).await;
        assert_eq!(first.field("status"), "accepted", "{name} {first:?}");
        let again = send(&server, source, &post).await;
        assert_eq!(again.field("status"), "duplicate", "{name} {again:?}");
        assert_eq!(again.field("delivery"), first.field("delivery"));
        rows += 1;
        assert_eq!(server.rows().await, rows, "{name}");
        assert_eq!(server.stored(&first).await.body, post.body);
    }
}
