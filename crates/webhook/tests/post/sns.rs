//! Mail through SNS. Its posts are signed with a certificate that must be fetched.

use std::sync::atomic::Ordering;

use pipeline::Timestamp;
use serde_json::{Value, json};
use testkit::sns::{CERTIFICATE, Kind, Sns};

use crate::harness::{Answer, NOW, Server, with_headers};

const ORIGIN: &str = "https://sns.eu-west-1.amazonaws.com";

fn now() -> Timestamp {
    Timestamp::from_millis(NOW * 1000)
}

async fn send(server: &Server, body: &str) -> Answer {
    let kind = [("content-type", "text/plain; charset=UTF-8")];
    let request = with_headers("ses-sns", &kind, body.as_bytes());
    server.exchange(&request).await
}

fn asked(server: &Server) -> Vec<String> {
    server.certificates.asked.lock().expect("asked").clone()
}

#[tokio::test]
async fn sns_mail_is_recorded_once_and_its_late_retry_is_a_duplicate() {
    let server = Server::start().await;
    let body = Sns::at(ORIGIN).mail("m-1", "agent@inbox.test", b"raw", now());
    let first = send(&server, &body).await;
    assert_eq!(first.field("status"), "accepted", "{first:?}");
    server.clock.move_by(50 * 60);
    let retry = send(&server, &body).await;
    assert_eq!(retry.field("status"), "duplicate", "{retry:?}");
    assert_eq!(retry.field("delivery"), first.field("delivery"));
    assert_eq!(asked(&server), [format!("{ORIGIN}{CERTIFICATE}")]);
    server.clock.move_by(24 * 3600);
    let replay = send(&server, &body).await;
    assert!(replay.is_problem(503, "signature-invalid"), "{replay:?}");
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn unavailable_certificate_returns_503_with_retry_after() {
    let server = Server::start().await;
    server
        .certificates
        .is_unavailable
        .store(true, Ordering::SeqCst);
    let body = Sns::at(ORIGIN).mail("m-1", "agent@inbox.test", b"raw", now());
    let unavailable = send(&server, &body).await;
    assert!(
        unavailable.is_problem(503, "unavailable"),
        "{unavailable:?}"
    );
    assert!(unavailable.has_header("retry-after: 5"));
    assert_eq!(server.rows().await, 0);
    server
        .certificates
        .is_unavailable
        .store(false, Ordering::SeqCst);
    let retried = send(&server, &body).await;
    assert_eq!(retried.field("status"), "accepted", "{retried:?}");
}

#[tokio::test]
async fn sns_post_without_a_signature_or_with_a_foreign_url_or_topic_is_refused_without_a_fetch() {
    let server = Server::start().await;
    let sns = Sns::at(ORIGIN);
    let elsewhere = Sns::at("https://sns.evil.com.amazonaws.com.attacker");
    let mut foreign = sns.fields(Kind::Notification, "m-1", "x", now());
    let topic = json!("arn:aws:sns:eu-west-1:999999999999:mail");
    foreign.insert("TopicArn".to_owned(), topic);
    for body in [
        "{}".to_owned(),
        elsewhere.post(Kind::Notification, "m-1", "x", now()),
        Value::Object(sns.signed(foreign, "2")).to_string(),
    ] {
        let answer = send(&server, &body).await;
        assert!(answer.is_problem(503, "signature-invalid"), "{answer:?}");
    }
    assert_eq!(asked(&server), Vec::<String>::new());
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn sns_post_changed_after_signing_is_refused() {
    let server = Server::start().await;
    let sns = Sns::at(ORIGIN);
    let mut forged = sns.fields(Kind::Notification, "m-1", "x", now());
    forged = sns.signed(forged, "1");
    forged.insert("Message".to_owned(), json!("y"));
    let answer = send(&server, &Value::Object(forged).to_string()).await;
    assert!(answer.is_problem(503, "signature-invalid"), "{answer:?}");
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn subscription_confirmation_is_recorded_like_mail() {
    let server = Server::start().await;
    let kind = Kind::SubscriptionConfirmation;
    let body = Sns::at(ORIGIN).post(kind, "s-1", "Please confirm.", now());
    let answer = send(&server, &body).await;
    assert_eq!(answer.field("status"), "accepted", "{answer:?}");
    assert_eq!(server.stored(&answer).await.body, body.as_bytes());
}
