//! Many posts at once, over many connections.

use std::collections::BTreeSet;

use crate::harness::{Answer, Connection, Server, signed};

/// Sends the requests over `connections` connections, round-robin.
async fn storm(server: &Server, connections: usize, requests: &[Vec<u8>]) -> Vec<Answer> {
    let senders: Vec<_> = (0..connections)
        .map(|turn| {
            let mine: Vec<Vec<u8>> = requests
                .iter()
                .skip(turn)
                .step_by(connections)
                .cloned()
                .collect();
            let port = server.port;
            tokio::spawn(async move {
                let mut connection = Connection::open(port).await;
                let mut answers = Vec::new();
                for request in mine {
                    answers.push(connection.exchange(&request).await);
                }
                answers
            })
        })
        .collect();
    let mut answers = Vec::new();
    for sender in senders {
        answers.extend(sender.await.expect("a sender"));
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_posts_of_one_delivery_write_one_row() {
    let server = Server::start().await;
    let requests = vec![signed("main", "msg_1", br#"{"type":"x"}"#); 200];
    let answers = storm(&server, 32, &requests).await;
    assert_eq!(answers.len(), 200);
    assert!(answers.iter().all(|answer| answer.status == 200));
    let accepted = answers
        .iter()
        .filter(|answer| answer.field("status") == "accepted");
    assert_eq!(accepted.count(), 1);
    let ids: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer.field("delivery").to_string())
        .collect();
    assert_eq!(ids.len(), 1, "every answer names the one row");
    assert_eq!(server.rows().await, 1);
    server.finish().await;
    assert_eq!(server.notifications().concat().len(), 1, "one notification");
    let meters = server.meters();
    assert!(meters.contains(r#"deliveries_total{source="main",outcome="accepted"} 1"#));
    assert!(meters.contains(r#"deliveries_total{source="main",outcome="duplicate"} 199"#));
    assert!(meters.contains(r#"outcome="duplicate"} 199"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_posts_each_get_the_id_of_their_row() {
    let server = Server::start().await;
    let body = |n: usize| format!(r#"{{"n":{n}}}"#).into_bytes();
    let requests: Vec<_> = (0..200)
        .map(|n| signed("main", &format!("msg_{n}"), &body(n)))
        .collect();
    let answers = storm(&server, 32, &requests).await;
    let order = (0..32).flat_map(|turn| (turn..200).step_by(32));
    for (answer, n) in answers.iter().zip(order) {
        assert_eq!(answer.field("status"), "accepted");
        assert_eq!(server.stored(answer).await.body, body(n), "post {n}");
    }
    server.finish().await;
    let notified: BTreeSet<_> = server.notifications().concat().into_iter().collect();
    assert_eq!(notified.len(), 200, "one notification for each delivery");
}

#[tokio::test(flavor = "multi_thread")]
async fn single_post_is_committed_without_delay() {
    let server = Server::start().await;
    for n in 0..5 {
        assert_eq!(server.post(&format!("msg_{n}"), b"{}").await.status, 200);
    }
    let meters = server.meters();
    assert!(
        meters.contains("maillatch_commit_batch_count 5"),
        "{meters}"
    );
    assert!(
        meters.contains("maillatch_commit_batch_sum 5.0"),
        "{meters}"
    );
}
