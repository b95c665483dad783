//! Outages of the database and the queue, and shutdown. Only the database decides
//! the answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pipeline::{
    Backlog, DeliveryId, DeliveryLog, Doorbell, NewDelivery, QueueError, Recorded, StoreError,
};
use testkit::wait::{soon, until};
use tokio::sync::Notify;
use webhook::Settings;

use crate::harness::{Server, Setup, signed};

/// A doorbell that always fails.
struct Failing;

#[async_trait]
impl Doorbell for Failing {
    async fn notify(&self, _: &[DeliveryId]) -> Result<(), QueueError> {
        Err(QueueError::Refused("failing"))
    }
}

/// A doorbell that never answers.
struct Hanging;

#[async_trait]
impl Doorbell for Hanging {
    async fn notify(&self, _: &[DeliveryId]) -> Result<(), QueueError> {
        std::future::pending().await
    }
}

async fn with_doorbell(doorbell: impl Doorbell + 'static) -> Server {
    Server::start_with(Setup {
        doorbell: Some(Arc::new(doorbell)),
        ..Setup::default()
    })
    .await
}

#[tokio::test]
async fn failing_doorbell_does_not_change_the_answer() {
    let server = with_doorbell(Failing).await;
    assert_eq!(server.post("msg_1", b"{}").await.status, 200);
    assert_eq!(server.rows().await, 1);
    until("the failed notification to be counted", || async {
        let line = r#"notifications_total{task="webhook",outcome="failed"} 1"#;
        server.meters().contains(line).then_some(())
    })
    .await;
}

#[tokio::test]
async fn hanging_doorbell_delays_no_post() {
    let server = with_doorbell(Hanging).await;
    let mut connection = server.connect().await;
    // One notification hangs, 256 commits may wait behind it, and later notifications are dropped.
    for n in 0..300 {
        let answer = connection
            .exchange(&signed("main", &format!("msg_{n}"), b"{}"))
            .await;
        assert_eq!(answer.status, 200);
    }
    assert_eq!(server.rows().await, 300);
    let meters = server.meters();
    assert!(meters.contains(r#"outcome="dropped""#), "{meters}");
}

#[tokio::test]
async fn unavailable_database_returns_503_with_retry_after() {
    let server = Server::start().await;
    server.store.close().await;
    let begun = Instant::now();
    let answer = server.post("msg_1", b"{}").await;
    // The documented bound is 3 s; the rest is for a busy machine.
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(answer.is_problem(503, "unavailable"), "{answer:?}");
    assert!(answer.has_header("retry-after: 5"), "{answer:?}");
    assert!(server.notifications().is_empty());
}

/// A real database that records only when a test lets it.
struct Paused {
    log: Arc<dyn DeliveryLog>,
    arrived: Arc<Notify>,
    go_on: Arc<Notify>,
}

#[async_trait]
impl DeliveryLog for Paused {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        self.arrived.notify_one();
        self.go_on.notified().await;
        self.log.record(batch).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.log.due(limit).await
    }

    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.log.claimable(ahead, limit).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        wait: Duration,
    ) -> Result<(), StoreError> {
        self.log.mark_notified(deliveries, wait).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.log.backlog().await
    }
}

fn with_commit_timeout(commit_timeout: Duration) -> Settings {
    Settings {
        commit_timeout,
        ..Settings::default()
    }
}

async fn paused(settings: Settings) -> (Server, Arc<Notify>, Arc<Notify>) {
    let (arrived, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (on_arrival, until_allowed) = (Arc::clone(&arrived), Arc::clone(&go_on));
    let setup = Setup {
        settings,
        log: Box::new(|log| {
            Arc::new(Paused {
                log,
                arrived: on_arrival,
                go_on: until_allowed,
            })
        }),
        ..Setup::default()
    };
    (Server::start_with(setup).await, arrived, go_on)
}

#[tokio::test]
async fn post_in_progress_is_answered_before_shutdown() {
    let (server, arrived, go_on) = paused(with_commit_timeout(Duration::from_mins(1))).await;
    let mut connection = server.connect().await;
    connection.send(&signed("main", "msg_1", b"{}")).await;
    soon("the post at the database", arrived.notified()).await;
    let last = async {
        go_on.notify_one();
        connection.answer().await.expect("an answer")
    };
    let ((), answer) = tokio::join!(server.finish(), last);
    assert_eq!(answer.status, 200);
    assert_eq!(server.rows().await, 1);
    assert_eq!(server.notifications().concat().len(), 1);
}

#[tokio::test]
async fn slow_commit_returns_503_and_the_retry_is_a_duplicate() {
    let (server, arrived, go_on) = paused(with_commit_timeout(Duration::from_millis(100))).await;
    let first = server.post("msg_1", b"{}").await;
    assert!(first.is_problem(503, "unavailable"), "{first:?}");
    arrived.notified().await;
    assert_eq!(server.rows().await, 0);
    go_on.notify_one();
    until("the late commit", || async {
        (server.rows().await == 1).then_some(())
    })
    .await;
    go_on.notify_one();
    let retry = server.post("msg_1", b"{}").await;
    assert_eq!(retry.field("status"), "duplicate", "{retry:?}");
    assert_eq!(server.rows().await, 1);
}

#[tokio::test]
async fn bodies_beyond_the_memory_budget_get_503_overloaded() {
    let settings = Settings {
        body_limit: 100_000,
        in_flight_bytes: 100_000,
        ..with_commit_timeout(Duration::from_mins(1))
    };
    let (server, arrived, go_on) = paused(settings).await;
    let mut first = server.connect().await;
    first
        .send(&signed("main", "msg_1", &vec![b'x'; 80_000]))
        .await;
    soon("the post at the database", arrived.notified()).await;
    let second = server.post("msg_2", &vec![b'y'; 50_000]).await;
    assert!(second.is_problem(503, "overloaded"), "{second:?}");
    assert!(second.has_header("retry-after: 1"), "{second:?}");
    go_on.notify_one();
    assert_eq!(first.answer().await.expect("an answer").status, 200);
    go_on.notify_one();
    let again = server.post("msg_2", &vec![b'y'; 50_000]).await;
    assert_eq!(again.status, 200, "the reserved bytes are free again");
}
