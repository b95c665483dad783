//! Clients that hang up while they wait: nothing is consumed for them, and their seats
//! are free at once.

use std::time::Duration;

use maillatch::deployment::Role;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::harness::{Harness, TIMEOUT, on_both_profiles, otp_delivery};

on_both_profiles!(
    client_that_hangs_up_during_a_consume_consumes_nothing,
    seats_of_250_clients_that_hung_up_are_free_at_once,
);

/// How soon a server notices that a client has hung up, on a busy machine.
const NOTICED: Duration = Duration::from_secs(15);

/// Sends a request to the first feed and returns the open connection.
async fn ask(harness: &Harness, head: &str, body: &str) -> TcpStream {
    let (url, key) = harness.agent();
    let url = url::Url::parse(&url).unwrap();
    let address = url.socket_addrs(|| None).unwrap()[0];
    let mut connection = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\
         Idempotency-Key: {}\r\n\r\n{body}",
        body.len(),
        uuid::Uuid::now_v7(),
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

/// Waits until the first feed has this many waits open; returns how long that took.
async fn until_waiting(harness: &Harness, wanted: usize) -> Duration {
    let line = format!("maillatch_waiting {wanted}");
    let began = Instant::now();
    loop {
        let metrics = harness.metrics(Role::Feed).await;
        if metrics.lines().any(|one| one == line) {
            return began.elapsed();
        }
        assert!(began.elapsed() < TIMEOUT, "never: {line}");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn client_that_hangs_up_during_a_consume_consumes_nothing(harness: Harness) {
    let attempt = harness.open(json!({ "inbox": "x@inbox.test" })).await;
    let path = format!(
        "POST /v1/attempts/{}/consume",
        attempt["id"].as_str().unwrap()
    );
    let connection = ask(&harness, &path, r#"{"wait":50}"#).await;
    until_waiting(&harness, 1).await;
    drop(connection);
    // A server that does not notice it in time consumes the mail, and no client gets the value.
    let is_noticed = timeout(NOTICED, until_waiting(&harness, 0)).await.is_ok();
    let mail = otp_delivery("x@inbox.test", "1", "493817");
    assert_eq!(
        harness.post_until_accepted(0, "d1", &mail).await.status,
        200
    );
    harness.until_items("x@inbox.test", 1).await;
    until_waiting(&harness, 0).await;
    assert_eq!(harness.count("SELECT count(*) FROM consumes").await, 0);
    assert!(is_noticed, "the wait went on");
    harness.until_state(&attempt, "ready").await;
    assert_eq!(harness.take(&attempt, "k1").await["value"], "493817");
    harness.end().await;
}

async fn seats_of_250_clients_that_hung_up_are_free_at_once(harness: Harness) {
    const CLIENTS: usize = 250;
    let mut connections = Vec::new();
    for _ in 0..CLIENTS {
        let head = "GET /v1/inboxes/agent@inbox.test/artifacts?wait=50";
        connections.push(ask(&harness, head, "").await);
    }
    until_waiting(&harness, CLIENTS).await;
    drop(connections);
    let took = until_waiting(&harness, 0).await;
    assert!(took < NOTICED, "{took:?}");
    harness.end().await;
}
