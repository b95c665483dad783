//! The rows `h` of the bad-input catalogue: bad input at the level of HTTP.

use std::time::Duration;

use webhook::Settings;

use crate::harness::{Server, Setup, signed, with_headers};

const BODY: &[u8] = br#"{"type":"email.received"}"#;

/// A correctly signed post with one more header line.
fn signed_plus(line: &str) -> Vec<u8> {
    let request = String::from_utf8(signed("main", "msg_1", BODY)).expect("text");
    request
        .replacen("\r\n\r\n", &format!("\r\n{line}\r\n\r\n"), 1)
        .into_bytes()
}

/// A correctly signed post with one of its header lines replaced.
fn signed_but(line: &str, other: &str) -> Vec<u8> {
    let request = String::from_utf8(signed("main", "msg_1", BODY)).expect("text");
    assert!(request.contains(line), "{line}");
    request.replacen(line, other, 1).into_bytes()
}

/// Sends a request that must get this status and record nothing.
async fn refused(request: &[u8], status: u16) {
    let server = Server::start().await;
    assert_eq!(server.exchange(request).await.status, status);
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn signed_post_is_recorded_byte_for_byte() {
    let server = Server::start().await;
    let answer = server.post("msg_1", BODY).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.field("status"), "accepted");
    assert_eq!(answer.field("conflict"), serde_json::Value::Null);
    assert!(answer.has_header("cache-control: no-store"));
    assert!(answer.has_header("content-type: application/json"));
    let stored = server.stored(&answer).await;
    assert_eq!(stored.body, BODY);
    assert_eq!(stored.content_type, "application/json");
    assert_eq!(stored.source.as_str(), "main");
}

#[tokio::test]
async fn h1_methods_other_than_post_return_405() {
    let server = Server::start().await;
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let request = format!("{method} /hooks/main HTTP/1.1\r\nhost: test\r\n\r\n");
        let answer = server.exchange(request.as_bytes()).await;
        assert!(answer.is_problem(405, "method-not-allowed"), "{answer:?}");
        assert!(answer.has_header("allow: post"));
    }
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn h2_unknown_source_returns_404_without_its_name() {
    let server = Server::start().await;
    for name in ["canary", "MAIN", "main%00", "..%2Fmain", &"a".repeat(200)] {
        let answer = server.exchange(&signed(name, "msg_1", BODY)).await;
        assert!(answer.is_problem(404, "not-found"), "{answer:?}");
        assert!(!answer.body.contains(name));
    }
    assert_eq!(server.rows().await, 0);
    assert!(!server.meters().contains("canary"));
    assert!(server.meters().contains("unknown_source"));
}

#[tokio::test]
async fn content_length_above_the_limit_returns_413_before_the_body() {
    let server = Server::start().await;
    let head = "POST /hooks/main HTTP/1.1\r\nhost: test\r\n\
        content-type: application/json\r\ncontent-length: 10485761\r\n\r\n";
    let mut connection = server.connect().await;
    let answer = connection.exchange(head.as_bytes()).await;
    assert!(answer.is_problem(413, "body-too-large"), "{answer:?}");
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn body_of_the_limit_is_accepted_and_one_byte_more_returns_413() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_limit: 100_000,
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let longest = server.post("msg_1", &vec![b'x'; 100_000]).await;
    assert_eq!(longest.status, 200);
    assert_eq!(server.stored(&longest).await.body.len(), 100_000);
    let longer = server.post("msg_2", &vec![b'x'; 100_001]).await;
    assert!(longer.is_problem(413, "body-too-large"), "{longer:?}");
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn h4_chunked_body_over_the_limit_returns_413_and_closes() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_limit: 100_000,
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let mut connection = server.connect().await;
    connection
        .send(
            b"POST /hooks/main HTTP/1.1\r\nhost: test\r\n\
            content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .await;
    let chunk = [b"2710\r\n".as_slice(), &[b'x'; 10_000], b"\r\n"].concat();
    for _ in 0..11 {
        connection.send(&chunk).await;
    }
    let answer = connection.answer().await.expect("an answer");
    assert!(answer.is_problem(413, "body-too-large"), "{answer:?}");
    // The client keeps sending, but the server closes the connection.
    let endless = async { while connection.try_send(&chunk).await {} };
    testkit::wait::soon("the end of the connection", endless).await;
    assert!(server.meters().contains("too_large"));
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn h5_empty_body_returns_401_unsigned_and_200_signed() {
    let server = Server::start().await;
    let unsigned = with_headers("main", &[("content-type", "application/json")], b"");
    let answer = server.exchange(&unsigned).await;
    assert!(answer.is_problem(401, "signature-invalid"), "{answer:?}");
    assert_eq!(server.rows().await, 0);
    let answer = server.post("msg_1", b"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(server.stored(&answer).await.body, b"");
}

#[tokio::test]
async fn h7_h8_missing_or_unusable_content_type_returns_415() {
    let server = Server::start().await;
    let line = "content-type: application/json\r\n";
    for other in [
        "",
        "content-type: \r\n",
        "content-type: application/json; charset=utf-16\r\n",
        "content-type: application/json\r\ncontent-type: text/plain\r\n",
    ] {
        let answer = server.exchange(&signed_but(line, other)).await;
        assert!(answer.is_problem(415, "media-type"), "{other:?} {answer:?}");
    }
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn h10_h11_encoded_body_returns_415_unread() {
    let server = Server::start().await;
    for encoding in ["gzip", "br", "zstd", "compress", "deflate", "gzip, gzip"] {
        let request = signed_plus(&format!("content-encoding: {encoding}"));
        let answer = server.exchange(&request).await;
        assert!(answer.is_problem(415, "content-encoding"), "{answer:?}");
    }
    assert_eq!(server.rows().await, 0);
    let plain = signed_plus("content-encoding: identity");
    assert_eq!(server.exchange(&plain).await.status, 200);
}

#[tokio::test]
async fn h13_two_content_lengths_return_400() {
    refused(&signed_plus("content-length: 3"), 400).await;
}

#[tokio::test]
async fn h14_content_length_with_a_plus_sign_returns_400() {
    let length = format!("content-length: {}", BODY.len());
    refused(&signed_but(&length, &length.replace(": ", ": +")), 400).await;
}

#[tokio::test]
async fn content_length_with_chunked_encoding_returns_400() {
    refused(&signed_plus("transfer-encoding: chunked"), 400).await;
}

#[tokio::test]
async fn h16_a_hundred_header_fields_return_431() {
    let many: Vec<String> = (0..100).map(|n| format!("x-{n}: 1")).collect();
    refused(&signed_plus(&many.join("\r\n")), 431).await;
}

#[tokio::test]
async fn h17_huge_header_returns_431() {
    let server = Server::start().await;
    let mut connection = server.connect().await;
    // The server may answer and close before the last byte is sent.
    connection
        .try_send(&signed_plus(&format!("x-huge: {}", "x".repeat(200_000))))
        .await;
    if let Some(answer) = connection.answer().await {
        assert_eq!(answer.status, 431);
    }
    assert_eq!(server.rows().await, 0);
    assert_eq!(server.post("msg_2", BODY).await.status, 200);
}

#[tokio::test]
async fn h19_folded_header_returns_400() {
    refused(&signed_plus("x-folded: a\r\n b"), 400).await;
}

#[tokio::test]
async fn h20_nul_in_a_header_returns_400() {
    refused(&signed_plus("x-nul: a\0b"), 400).await;
}

#[tokio::test]
async fn h22_bare_line_feeds_are_read_like_crlf() {
    let server = Server::start().await;
    let request = String::from_utf8(signed("main", "msg_1", BODY)).expect("text");
    let request = request.replace("\r\n", "\n");
    let answer = server.exchange(request.as_bytes()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(server.stored(&answer).await.body, BODY);
}

#[tokio::test]
async fn h23_chunk_extensions_are_not_part_of_the_body() {
    let server = Server::start().await;
    let length = format!("content-length: {}", BODY.len());
    let request = signed_but(&length, "transfer-encoding: chunked");
    let head = &request[..request.len() - BODY.len()];
    let (left, right) = BODY.split_at(3);
    let chunks = [
        head,
        b"3;a=b\r\n",
        left,
        format!("\r\n{:x};c=\"d\"\r\n", right.len()).as_bytes(),
        right,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let answer = server.exchange(&chunks).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.stored(&answer).await.body, BODY);
}

#[tokio::test]
async fn h25_slow_headers_return_408() {
    let server = Server::start_with(Setup {
        head_timeout: Duration::from_millis(500),
        ..Setup::default()
    })
    .await;
    let mut connection = server.connect().await;
    connection.send(b"POST /hooks/main HTT").await;
    let answer = connection.answer().await.expect("an answer");
    assert_eq!(answer.status, 408);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn h26_slow_body_returns_408() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_timeout: Duration::from_millis(500),
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let mut connection = server.connect().await;
    let request = signed("main", "msg_1", BODY);
    connection.send(&request[..request.len() - 5]).await;
    let answer = connection.answer().await.expect("an answer");
    assert!(answer.is_problem(408, "request-timeout"), "{answer:?}");
    assert!(connection.is_closed().await);
    assert_eq!(server.rows().await, 0);
}

#[tokio::test]
async fn h28_reset_in_mid_body_records_nothing() {
    let server = Server::start().await;
    for _ in 0..20 {
        let mut connection = server.connect().await;
        let request = signed("main", "msg_1", BODY);
        connection.send(&request[..request.len() - 5]).await;
        connection.reset();
    }
    assert_eq!(server.post("msg_2", BODY).await.status, 200);
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn h29_post_is_served_beside_a_thousand_idle_connections() {
    let server = Server::start().await;
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(server.connect().await);
    }
    assert_eq!(server.post("msg_1", BODY).await.status, 200);
}

#[tokio::test]
async fn h31_method_override_header_is_ignored() {
    let server = Server::start().await;
    let request = signed_plus("x-http-method-override: DELETE");
    assert_eq!(server.exchange(&request).await.status, 200);
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn h32_http2_preface_returns_400() {
    refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400).await;
}
