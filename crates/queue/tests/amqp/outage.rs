//! Broken connections, deleted queues and frozen brokers.

use std::time::Duration;

use pipeline::{DeliveryId, QueueError};
use testkit::patience::{soon, until};
use tokio::time::timeout;

use crate::broker::{self, Inspector, hear_of, proxied, ring_until_taken, settings, url};

#[tokio::test(flavor = "multi_thread")]
async fn absent_broker_fails_a_ring_at_once() {
    // Nobody listens on the discard port of loopback.
    let settings = settings("amqp://guest:guest@127.0.0.1:9/%2f");
    let queue = queue::open(&settings).await.unwrap();
    let rung = soon("the ring fails", queue.doorbell.ring(&[DeliveryId::new()])).await;
    assert!(matches!(rung, Err(QueueError::Unavailable(_))), "{rung:?}");
    let probed = soon("the probe answers", queue.probe.probe()).await;
    assert!(probed.is_err());
    let mut bell = queue.bell();
    let waiter = tokio::spawn(async move { bell.next().await.is_none() });
    soon("it closes", queue.close()).await;
    assert!(soon("the bell ends", waiter).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn ring_to_a_deleted_queue_is_refused_and_declares_it_again() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    Inspector::connect(&url())
        .await
        .delete(&settings.name)
        .await;

    let rung = queue.doorbell.ring(&[DeliveryId::new()]).await;
    assert!(matches!(rung, Err(QueueError::Refused(_))), "{rung:?}");

    let delivery = ring_until_taken(&queue).await;
    hear_of(&mut queue.bell(), delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_survives_deletion_of_its_queue() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let mut bell = queue.bell();
    let delivery = ring_until_taken(&queue).await;
    hear_of(&mut bell, delivery).await;

    let waiter = tokio::spawn(async move {
        let ring = bell.next().await.expect("the bell ended");
        let deliveries = ring.deliveries.clone();
        ring.done().await;
        deliveries
    });
    let inspector = Inspector::connect(&url()).await;
    inspector.delete(&settings.name).await;
    // The consumer is cancelled, notices it, and declares the queue again without
    // any ring.
    until("the consumer declares the queue", || async {
        inspector.has(&settings.name).await.then_some(())
    })
    .await;
    let delivery = ring_until_taken(&queue).await;
    let heard = soon("a ring after the deletion", waiter).await.unwrap();
    assert_eq!(heard, [delivery]);
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connection_is_rebuilt() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let mut bell = queue.bell();
    for _ in 0..3 {
        let delivery = ring_until_taken(&queue).await;
        hear_of(&mut bell, delivery).await;

        proxy.cut();
        let refused = until("rings fail while it is cut", || async {
            queue.doorbell.ring(&[DeliveryId::new()]).await.err()
        });
        assert!(matches!(refused.await, QueueError::Unavailable(_)));

        proxy.heal();
    }
    let delivery = ring_until_taken(&queue).await;
    hear_of(&mut bell, delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unacknowledged_ring_is_redelivered_after_a_cut() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = ring_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the ring is heard", bell.next()).await.unwrap();
    assert_eq!(held.deliveries, [delivery]);

    proxy.cut();
    until("the cut is noticed", || async {
        queue.doorbell.ring(&[DeliveryId::new()]).await.err()
    })
    .await;
    // The acknowledgement is lost without an error, so the ring is redelivered.
    soon("the answer ends", held.done()).await;
    proxy.heal();

    hear_of(&mut bell, delivery).await;
    queue.close().await;
}

/// Five times the deadline of an exchange, and half the time after which missing
/// heartbeats end the connection.
const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn frozen_broker_times_out_rings_and_acks() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = ring_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the ring is heard", bell.next()).await.unwrap();

    proxy.freeze();
    for _ in 0..2 {
        let rung = timeout(DEADLINE, queue.doorbell.ring(&[DeliveryId::new()])).await;
        assert!(
            matches!(rung, Ok(Err(QueueError::Unavailable(_)))),
            "{rung:?}"
        );
    }
    let answered = timeout(DEADLINE, held.done()).await;
    assert!(answered.is_ok(), "the answer hangs");

    // The frozen connections never recover; new ones must be built.
    proxy.heal();
    let later = ring_until_taken(&queue).await;
    // The broker redelivers the ring when heartbeats are missing or the connection is
    // closed.
    proxy.cut();
    proxy.heal();
    hear_of(&mut bell, later).await;
    assert_ne!(delivery, later);
    queue.close().await;
}
