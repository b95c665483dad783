//! Sources that accept posts from listed addresses only.

use pipeline::Timestamp;
use providers::sign;
use secrecy::SecretString;
use webhook::Settings;

use crate::harness::{Answer, NOW, SECRET, Server, Setup, with_headers};

async fn send(server: &Server, forwarded: Option<&str>) -> Answer {
    let at = Timestamp::from_millis(NOW * 1000);
    let signature = sign(&SecretString::from(SECRET), "msg_1", at, b"{}").expect("signed");
    let stamp = NOW.to_string();
    let mut headers = vec![
        ("content-type", "application/json"),
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", &stamp),
        ("webhook-signature", &signature),
    ];
    headers.extend(forwarded.map(|chain| ("x-forwarded-for", chain)));
    let request = with_headers("listed", &headers, b"{}");
    server.exchange(&request).await
}

#[tokio::test]
async fn signed_post_from_an_unlisted_address_returns_401() {
    let server = Server::start().await;
    for forwarded in [None, Some("192.0.2.7")] {
        let answer = send(&server, forwarded).await;
        assert!(answer.is_problem(401, "signature-invalid"), "{answer:?}");
    }
    assert_eq!(server.rows().await, 0);
    let meters = server.meters();
    assert!(meters.contains(r#"deliveries_total{source="listed",outcome="address_foreign"} 2"#));
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_forwarded_address_counts() {
    let server = Server::start_with(Setup {
        settings: Settings {
            trusted_proxies: vec!["127.0.0.0/8".parse().expect("a range")],
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    for forwarded in [None, Some("198.51.100.1"), Some("192.0.2.7, 198.51.100.1")] {
        let answer = send(&server, forwarded).await;
        assert!(answer.is_problem(401, "signature-invalid"), "{answer:?}");
    }
    let answer = send(&server, Some("198.51.100.1, 192.0.2.7")).await;
    assert_eq!(answer.field("status"), "accepted", "{answer:?}");
}
