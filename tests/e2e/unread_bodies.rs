//! Requests whose body nobody wants: the client is not asked for it, and the connection
//! is closed.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::harness::{Harness, Role, TIMEOUT, on_both_profiles, otp_delivery};

on_both_profiles!(
    refused_request_gets_no_continue,
    accepted_request_gets_continue_and_its_answer,
    endless_refused_body_is_cut_off,
    malformed_requests_write_no_warning,
);

/// A connection to the first process of a role on which this was sent.
async fn sent(harness: &Harness, role: Role, head: &str) -> TcpStream {
    let url = harness.deployment.url(role, 0).unwrap();
    let address = url.socket_addrs(|| None).unwrap()[0];
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!("{head}\r\nHost: {address}\r\n\r\n");
    connection.write_all(head.as_bytes()).await.unwrap();
    connection
}

/// Reads until the text ends with `end`, or the connection.
async fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        match timeout(TIMEOUT, connection.read_u8()).await.unwrap() {
            Ok(byte) => text.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(text).unwrap()
}

async fn refused_request_gets_no_continue(harness: Harness) {
    let json = "Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue";
    let long = json.replace("10\r\n", "999999999\r\n");
    let wrong = "Authorization: Bearer mlk_0000000000000000000000000000000000000000000";
    for (role, head, status) in [
        (
            Role::Webhook,
            format!("POST /hooks/none HTTP/1.1\r\n{json}"),
            404,
        ),
        (
            Role::Webhook,
            format!("PUT /hooks/dev HTTP/1.1\r\n{json}"),
            405,
        ),
        (
            Role::Webhook,
            format!("POST /hooks/dev HTTP/1.1\r\n{long}"),
            413,
        ),
        (
            Role::Feed,
            format!("POST /v1/attempts HTTP/1.1\r\n{json}"),
            401,
        ),
        (
            Role::Feed,
            format!("POST /v1/attempts HTTP/1.1\r\n{wrong}\r\n{json}"),
            401,
        ),
        (Role::Feed, format!("POST /v1/none HTTP/1.1\r\n{json}"), 404),
    ] {
        let mut connection = sent(&harness, role, &head).await;
        let answer = read_until(&mut connection, "\r\n").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{head}: {answer}"
        );
        let rest = read_until(&mut connection, "never").await.to_lowercase();
        assert!(rest.contains("connection: close"), "{head}: {rest}");
    }
    harness.end().await;
}

async fn accepted_request_gets_continue_and_its_answer(harness: Harness) {
    let mail = otp_delivery("agent@inbox.test", "1", "493817");
    let now = SystemClock.now();
    let secret = harness.deployment.signing_secret();
    let signature = providers::sign(&secret, "d1", now, &mail).unwrap();
    let post = format!(
        "POST /hooks/dev HTTP/1.1\r\nContent-Type: application/json\r\nwebhook-id: d1\r\n\
         webhook-timestamp: {}\r\nwebhook-signature: {signature}",
        now.as_seconds()
    );
    let key = harness.deployment.key(0);
    let open = format!(
        "POST /v1/attempts HTTP/1.1\r\nContent-Type: application/json\r\n\
         Idempotency-Key: k1\r\nAuthorization: Bearer {}",
        key.expose_secret()
    );
    let attempt = br#"{"inbox":"agent@inbox.test"}"#.to_vec();
    for (role, head, body, status) in [
        (Role::Webhook, post, mail, 200),
        (Role::Feed, open, attempt, 201),
    ] {
        let expect = format!(
            "{head}\r\nContent-Length: {}\r\nExpect: 100-continue",
            body.len()
        );
        let mut connection = sent(&harness, role, &expect).await;
        let interim = read_until(&mut connection, "\r\n\r\n").await;
        assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
        connection.write_all(&body).await.unwrap();
        let answer = read_until(&mut connection, "\r\n\r\n").await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert!(
            !answer.to_lowercase().contains("connection: close"),
            "{answer}"
        );
    }
    harness.end().await;
}

async fn endless_refused_body_is_cut_off(harness: Harness) {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000));
    for (role, path) in [
        (Role::Webhook, "/hooks/none"),
        (Role::Webhook, "/hooks/dev"),
        (Role::Feed, "/v1/attempts"),
        (Role::Feed, "/v1/inboxes/agent@inbox.test/artifacts"),
        (Role::Feed, "/v1/none"),
        (Role::Feed, "/none"),
        (Role::Feed, "/livez"),
    ] {
        let head = format!("POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked");
        let mut connection = sent(&harness, role, &head).await;
        let began = Instant::now();
        let cut_off = async { while connection.write_all(chunk.as_bytes()).await.is_ok() {} };
        let cut_off = timeout(Duration::from_secs(20), cut_off).await;
        assert!(cut_off.is_ok(), "{path}: read for {:?}", began.elapsed());
    }
    harness.end().await;
}

async fn malformed_requests_write_no_warning(harness: Harness) {
    for head in [
        "GET / HTTP/9.9",
        "\0\0\0\0 / HTTP/1.1",
        "POST /hooks/dev HTTP/1.1\r\nContent-Length: -1",
        "POST /hooks/dev HTTP/1.1\r\nTransfer-Encoding: chunked, gzip",
        "POST /hooks/dev HTTP/1.1\r\nBad Name: x",
    ] {
        for role in [Role::Webhook, Role::Feed] {
            let mut connection = sent(&harness, role, head).await;
            read_until(&mut connection, "never").await;
        }
    }
    let logs = harness.deployment.logs().unwrap();
    let is_loud =
        |line: &&str| line.contains("actix_") && (line.contains("WARN") || line.contains("ERROR"));
    let loud: Vec<&str> = logs.lines().filter(is_loud).collect();
    assert!(loud.is_empty(), "{loud:?}");
    harness.end().await;
}
