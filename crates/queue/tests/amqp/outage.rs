//! Connections that break, queues that vanish, brokers that freeze.

use std::time::Duration;

use pipeline::{DeliveryId, QueueError};
use testkit::patience::{soon, until};
use tokio::time::timeout;

use crate::broker::{self, Inspector, hear_of, proxied, ring_until_taken, settings, url};

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_not_there_fails_a_ring_at_once_and_stops_nothing() {
    // Nobody listens on the discard port of loopback.
    let settings = settings("amqp://guest:guest@127.0.0.1:9/%2f");
    let queue = queue::open(&settings).await.unwrap();
    let rung = soon(
        "the ring fails",
        queue.doorbell.notify(&[DeliveryId::new()]),
    )
    .await;
    assert!(matches!(rung, Err(QueueError::Unavailable(_))), "{rung:?}");
    let probed = soon("the probe answers", queue.probe.probe()).await;
    assert!(probed.is_err());
    let mut bell = queue.bell();
    let waiter = tokio::spawn(async move { bell.next().await.is_none() });
    soon("it closes", queue.close()).await;
    assert!(soon("the bell ends", waiter).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn ringing_a_deleted_queue_is_refused_and_brings_it_back() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    Inspector::connect(&url())
        .await
        .delete(&settings.name)
        .await;

    let rung = queue.doorbell.notify(&[DeliveryId::new()]).await;
    assert!(matches!(rung, Err(QueueError::Refused(_))), "{rung:?}");

    let delivery = ring_until_taken(&queue).await;
    hear_of(&mut queue.bell(), delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bell_outlives_the_deletion_of_its_queue() {
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
    // The bell hears that its consumer is cancelled and declares the queue,
    // though nobody rings.
    until("the bell declares the queue", || async {
        inspector.has(&settings.name).await.then_some(())
    })
    .await;
    let delivery = ring_until_taken(&queue).await;
    let heard = soon("a ring after the deletion", waiter).await.unwrap();
    assert_eq!(heard, [delivery]);
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_built_again() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let mut bell = queue.bell();
    for _ in 0..3 {
        let delivery = ring_until_taken(&queue).await;
        hear_of(&mut bell, delivery).await;

        proxy.cut();
        let refused = until("rings fail while it is cut", || async {
            queue.doorbell.notify(&[DeliveryId::new()]).await.err()
        });
        assert!(matches!(refused.await, QueueError::Unavailable(_)));

        proxy.heal();
    }
    let delivery = ring_until_taken(&queue).await;
    hear_of(&mut bell, delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_in_hand_when_the_connection_is_cut_comes_again() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = ring_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the ring is heard", bell.next()).await.unwrap();
    assert_eq!(held.deliveries, [delivery]);

    proxy.cut();
    until("the cut is noticed", || async {
        queue.doorbell.notify(&[DeliveryId::new()]).await.err()
    })
    .await;
    // The answer goes nowhere, and nobody is told: the ring comes again.
    soon("the answer ends", held.done()).await;
    proxy.heal();

    hear_of(&mut bell, delivery).await;
    queue.close().await;
}

/// Five times the deadline of an exchange, and half of what it takes until
/// missing heartbeats end the connection.
const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_broker_hangs_neither_a_ring_nor_an_answer() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = ring_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the ring is heard", bell.next()).await.unwrap();

    proxy.freeze();
    for _ in 0..2 {
        let rung = timeout(DEADLINE, queue.doorbell.notify(&[DeliveryId::new()])).await;
        assert!(
            matches!(rung, Ok(Err(QueueError::Unavailable(_)))),
            "{rung:?}"
        );
    }
    let answered = timeout(DEADLINE, held.done()).await;
    assert!(answered.is_ok(), "the answer hangs");

    // The frozen connections never speak again; others must be built.
    proxy.heal();
    let later = ring_until_taken(&queue).await;
    // The broker, for its part, gives the ring back when it hears no heartbeat
    // or when the connection is closed.
    proxy.cut();
    proxy.heal();
    hear_of(&mut bell, later).await;
    assert_ne!(delivery, later);
    queue.close().await;
}
