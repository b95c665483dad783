//! The rows `s` of the bad-input catalogue: signatures. `crates/providers` tests the
//! forms of every header. Here each kind of refusal goes through the real server,
//! records nothing, and gets the same answer as every other.

use pipeline::Timestamp;
use providers::sign;
use secrecy::SecretString;

use crate::harness::{Answer, NOW, OTHER_SECRET, SECRET, Server, with_headers};

const BODY: &[u8] = br#"{"type":"email.received"}"#;

fn signature(secret: &str, id: &str, seconds: i64, body: &[u8]) -> String {
    let at = Timestamp::from_millis(seconds * 1000);
    sign(&SecretString::from(secret), id, at, body).expect("signed")
}

fn post(source: &str, id: &str, seconds: i64, signature: &str) -> Vec<u8> {
    let seconds = seconds.to_string();
    let headers = [
        ("content-type", "application/json"),
        ("webhook-id", id),
        ("webhook-timestamp", &seconds),
        ("webhook-signature", signature),
    ];
    with_headers(source, &headers, BODY)
}

fn valid(source: &str, secret: &str, seconds: i64) -> Vec<u8> {
    post(
        source,
        "msg_1",
        seconds,
        &signature(secret, "msg_1", seconds, BODY),
    )
}

/// The good post with a header line replaced.
fn but(line: &str, other: &str) -> Vec<u8> {
    let request = String::from_utf8(valid("main", SECRET, NOW)).expect("text");
    assert!(request.contains(line), "{line}");
    request.replacen(line, other, 1).into_bytes()
}

fn every_refusal() -> Vec<(&'static str, Vec<u8>)> {
    let good = signature(SECRET, "msg_1", NOW, BODY);
    let id = "webhook-id: msg_1\r\n";
    let stamp = format!("webhook-timestamp: {NOW}\r\n");
    let line = format!("webhook-signature: {good}\r\n");
    let with_signature = |text: &str| but(&line, &format!("webhook-signature: {text}\r\n"));
    let mut flipped = valid("main", SECRET, NOW);
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    vec![
        ("s1 no signature", but(&line, "")),
        ("s2 no id", but(id, "")),
        ("s2 no timestamp", but(&stamp, "")),
        ("s4 one bit flipped", flipped),
        (
            "s5 re-serialized",
            but(r#"{"type":"email."#, r#"{ "type":"email"#),
        ),
        ("s7 hex", with_signature(&format!("v1,{}", "ab".repeat(32)))),
        ("s8 no padding", with_signature(good.trim_end_matches('='))),
        ("s11 eleven", with_signature(&[good.as_str(); 11].join(" "))),
        (
            "s13 two signatures",
            but(&line, &format!("{line}webhook-signature: v1,AAAA\r\n")),
        ),
        ("s14 two ids", but(id, &format!("{id}{id}"))),
        ("two families", but(id, &format!("{id}svix-id: msg_1\r\n"))),
        ("s16 too old", valid("main", SECRET, NOW - 301)),
        ("s16 too new", valid("main", SECRET, NOW + 301)),
        ("s19 a sign", but(&stamp, &stamp.replace(": ", ": +"))),
        ("s20 milliseconds", valid("main", SECRET, NOW * 1000)),
        (
            "s22 a dot",
            post("main", "a.b", NOW, &signature(SECRET, "a.b", NOW, BODY)),
        ),
        ("s22 too long", {
            let id = "a".repeat(129);
            post("main", &id, NOW, &signature(SECRET, &id, NOW, BODY))
        }),
        ("s29 of another source", valid("other", SECRET, NOW)),
        ("s29 of another source", valid("twin", OTHER_SECRET, NOW)),
    ]
}

#[tokio::test]
async fn every_forgery_gets_the_same_401_and_no_row() {
    let server = Server::start().await;
    let mut first: Option<Answer> = None;
    for (row, request) in every_refusal() {
        let mut answer = server.exchange(&request).await;
        assert!(
            answer.is_problem(401, "signature-invalid"),
            "{row} {answer:?}"
        );
        assert!(!answer.has_header("retry-after: 5"));
        // Two refusals may differ only in the date and the order of the headers.
        let mut head: Vec<&str> = answer.head.lines().collect();
        head.retain(|line| !line.starts_with("date:"));
        head.sort_unstable();
        answer.head = head.join("\n");
        let first = first.get_or_insert_with(|| answer.clone());
        assert_eq!(*first, answer, "{row}");
    }
    assert_eq!(server.rows().await, 0);
    assert!(server.notifications().is_empty());
}

#[tokio::test]
async fn refusal_reasons_appear_in_metrics_only() {
    let server = Server::start().await;
    server.exchange(&valid("main", SECRET, NOW - 301)).await;
    server.exchange(&valid("other", SECRET, NOW)).await;
    let meters = server.meters();
    assert!(meters.contains(r#"deliveries_total{source="main",outcome="stale"} 1"#));
    assert!(meters.contains(r#"deliveries_total{source="other",outcome="signature_mismatch"} 1"#));
}

#[tokio::test]
async fn s10_unknown_signature_version_beside_a_valid_one_is_accepted() {
    let server = Server::start().await;
    let list = format!("v1a,AAAA {}", signature(SECRET, "msg_1", NOW, BODY));
    let answer = server.exchange(&post("main", "msg_1", NOW, &list)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn s17_timestamp_exactly_300_s_old_is_accepted() {
    let server = Server::start().await;
    let answer = server.exchange(&valid("main", SECRET, NOW - 300)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn s23_each_configured_secret_is_accepted() {
    let server = Server::start().await;
    let answer = server.exchange(&valid("main", OTHER_SECRET, NOW)).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn s25_s26_replay_is_a_duplicate_within_the_window_and_401_later() {
    let server = Server::start().await;
    let request = valid("main", SECRET, NOW);
    let first = server.exchange(&request).await;
    server.clock.move_by(300);
    let again = server.exchange(&request).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.field("status"), "duplicate");
    assert_eq!(again.field("delivery"), first.field("delivery"));
    server.clock.move_by(300);
    let late = server.exchange(&request).await;
    assert!(late.is_problem(401, "signature-invalid"), "{late:?}");
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn retry_with_a_new_signature_is_a_duplicate() {
    let server = Server::start().await;
    server.exchange(&valid("main", SECRET, NOW)).await;
    server.clock.move_by(7200);
    let retry = server.exchange(&valid("main", SECRET, NOW + 7200)).await;
    assert_eq!(retry.field("status"), "duplicate");
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn s28_same_id_from_another_source_is_another_delivery() {
    let server = Server::start().await;
    let main = server.exchange(&valid("main", SECRET, NOW)).await;
    let twin = server.exchange(&valid("twin", SECRET, NOW)).await;
    assert_eq!(twin.field("status"), "accepted");
    assert_ne!(main.field("delivery"), twin.field("delivery"));
    assert_eq!(server.rows().await, 2);
}

#[tokio::test]
async fn reused_id_with_another_body_is_recorded_as_a_conflict() {
    let server = Server::start().await;
    server.post("msg_1", b"{}").await;
    let other = server.post("msg_1", b"[]").await;
    assert_eq!(other.status, 200);
    assert_eq!(other.field("status"), "accepted");
    assert_eq!(other.field("conflict"), true);
    let again = server.post("msg_1", b"[]").await;
    assert_eq!(again.field("status"), "duplicate");
    assert_eq!(again.field("delivery"), other.field("delivery"));
    assert_eq!(server.rows().await, 2);
    assert_eq!(server.stored(&other).await.body, b"[]");
}

#[tokio::test]
async fn p1_p2_p4_p22_authentic_but_unreadable_posts_are_recorded() {
    let server = Server::start().await;
    for (n, body) in [
        &b"{"[..],
        b"[]",
        b"\"x\"",
        b"{\"a\":1,\"a\":2}",
        b"{}x",
        b"\xff",
    ]
    .into_iter()
    .enumerate()
    {
        let answer = server.post(&format!("msg_{n}"), body).await;
        assert_eq!(answer.status, 200, "{body:?}");
        assert_eq!(server.stored(&answer).await.body, body);
    }
}
