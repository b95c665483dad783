//! Unauthenticated clients that send slowly must not keep signed posts out.

use webhook::Settings;

use crate::harness::{Connection, Server, Setup, signed, with_headers};

/// An unsigned post for the source `main` of which the last byte is never sent.
fn unfinished(bytes: usize) -> Vec<u8> {
    let body = vec![b'x'; bytes];
    let mut post = with_headers("main", &[("content-type", "application/json")], &body);
    post.pop();
    post
}

#[tokio::test]
async fn slow_clients_at_one_address_do_not_block_posts_from_another() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_limit: 20_000,
            in_flight_bytes: 100_000,
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let mut slow = Vec::new();
    for _ in 0..12 {
        let mut connection = Connection::open_from([127, 0, 0, 2], server.port).await;
        connection.try_send(&unfinished(18_000)).await;
        slow.push(connection);
    }
    for n in 0..20 {
        let answer = server.post(&format!("msg_{n}"), &vec![b'y'; 5_000]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[tokio::test]
async fn client_below_the_minimum_rate_gets_408_before_the_timeout() {
    let server = Server::start_with(Setup {
        settings: Settings {
            body_timeout: std::time::Duration::from_mins(1),
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let began = std::time::Instant::now();
    let answer = server.exchange(&unfinished(5_000)).await;
    assert!(answer.is_problem(408, "request-timeout"), "{answer:?}");
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}

#[tokio::test]
async fn post_from_an_unlisted_address_gets_401_before_its_body() {
    let server = Server::start().await;
    let post = signed("listed", "msg_1", b"{}");
    let mut connection = server.connect().await;
    connection.send(&post[..post.len() - 2]).await;
    let answer = connection.answer().await.expect("an answer");
    assert!(answer.is_problem(401, "signature-invalid"), "{answer:?}");
    assert!(connection.is_closed().await);
}
