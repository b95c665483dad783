//! Broken connections, deleted queues and frozen brokers.

use std::time::Duration;

use pipeline::{DeliveryId, QueueError};
use testkit::wait::{soon, until};
use tokio::time::timeout;

use crate::broker::{self, Inspector, notify_until_taken, proxied, receive, settings, url};

#[tokio::test(flavor = "multi_thread")]
async fn absent_broker_fails_a_notification_at_once() {
    // Nobody listens on the discard port of loopback.
    let settings = settings("amqp://guest:guest@127.0.0.1:9/%2f");
    let queue = queue::open(&settings).await.unwrap();
    let notified = soon(
        "the notification fails",
        queue.doorbell.notify(&[DeliveryId::new()]),
    )
    .await;
    assert!(
        matches!(notified, Err(QueueError::Unavailable(_))),
        "{notified:?}"
    );
    let probed = soon("the probe answers", queue.probe.probe()).await;
    assert!(probed.is_err());
    let mut bell = queue.bell();
    let waiter = tokio::spawn(async move { bell.next().await.is_none() });
    soon("it closes", queue.close()).await;
    assert!(soon("the listener ends", waiter).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn notification_to_a_deleted_queue_is_refused_and_declares_it_again() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    Inspector::connect(&url())
        .await
        .delete(&settings.name)
        .await;

    let notified = queue.doorbell.notify(&[DeliveryId::new()]).await;
    assert!(
        matches!(notified, Err(QueueError::Refused(_))),
        "{notified:?}"
    );

    let delivery = notify_until_taken(&queue).await;
    receive(&mut queue.bell(), delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumer_survives_deletion_of_its_queue() {
    let settings = settings(&url());
    let queue = broker::open(&settings).await;
    let mut bell = queue.bell();
    let delivery = notify_until_taken(&queue).await;
    receive(&mut bell, delivery).await;

    let waiter = tokio::spawn(async move {
        let notification = bell.next().await.expect("the listener ended");
        let deliveries = notification.deliveries.clone();
        notification.done().await;
        deliveries
    });
    let inspector = Inspector::connect(&url()).await;
    inspector.delete(&settings.name).await;
    // The consumer is cancelled, notices it, and declares the queue again without
    // any notification.
    until("the consumer declares the queue", || async {
        inspector.has(&settings.name).await.then_some(())
    })
    .await;
    let delivery = notify_until_taken(&queue).await;
    let received = soon("a notification after the deletion", waiter)
        .await
        .unwrap();
    assert_eq!(received, [delivery]);
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connection_is_rebuilt() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let mut bell = queue.bell();
    for _ in 0..3 {
        let delivery = notify_until_taken(&queue).await;
        receive(&mut bell, delivery).await;

        proxy.cut();
        let refused = until("notifications fail while it is cut", || async {
            queue.doorbell.notify(&[DeliveryId::new()]).await.err()
        });
        assert!(matches!(refused.await, QueueError::Unavailable(_)));

        proxy.heal();
    }
    let delivery = notify_until_taken(&queue).await;
    receive(&mut bell, delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unacknowledged_notification_is_redelivered_after_a_cut() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = notify_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the notification arrives", bell.next()).await.unwrap();
    assert_eq!(held.deliveries, [delivery]);

    proxy.cut();
    until("the cut is noticed", || async {
        queue.doorbell.notify(&[DeliveryId::new()]).await.err()
    })
    .await;
    // The acknowledgement is lost without an error, so the notification is redelivered.
    soon("the answer ends", held.done()).await;
    proxy.heal();

    receive(&mut bell, delivery).await;
    queue.close().await;
}

/// Five times the deadline of an exchange, and half the time after which missing
/// heartbeats end the connection.
const DEADLINE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn notifications_and_acks_to_a_frozen_broker_time_out() {
    let (proxy, through) = proxied().await;
    let queue = broker::open(&settings(&through)).await;
    let delivery = notify_until_taken(&queue).await;
    let mut bell = queue.bell();
    let held = soon("the notification arrives", bell.next()).await.unwrap();

    proxy.freeze();
    // On a busy machine the proxy still carries what it has read, so the first may succeed.
    let mut failed = 0;
    while failed < 2 {
        let notified = timeout(DEADLINE, queue.doorbell.notify(&[DeliveryId::new()])).await;
        match notified {
            Ok(Ok(())) if failed == 0 => {}
            Ok(Err(QueueError::Unavailable(_))) => failed += 1,
            other => panic!("{other:?}"),
        }
    }
    let answered = timeout(DEADLINE, held.done()).await;
    assert!(answered.is_ok(), "the answer hangs");

    // The frozen connections never recover; new ones must be built.
    proxy.heal();
    let later = notify_until_taken(&queue).await;
    // The broker redelivers the notification when heartbeats are missing or the connection is
    // closed.
    proxy.cut();
    proxy.heal();
    receive(&mut bell, later).await;
    assert_ne!(delivery, later);
    queue.close().await;
}
