//! A notification leaves the queue when it is acknowledged, and not before.

use super::{QueueSubject, ROOMY, notify_once, receive};

/// Dropping a notification is not acknowledging it.
pub async fn notification_dropped_without_acknowledgement_comes_again<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = notify_once(&queue).await;
    let mut listener = queue.listener();
    for _ in 0..3 {
        let dropped = receive(&mut listener).await;
        assert_eq!(dropped.deliveries, [delivery]);
        drop(dropped);
    }
    receive(&mut listener).await.done().await;
}

/// Another worker gets the notifications of a worker that is gone.
pub async fn notification_of_a_dropped_listener_goes_to_another<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = notify_once(&queue).await;
    let mut first = queue.listener();
    let dropped = receive(&mut first).await;
    drop(first);
    drop(dropped);
    let received = receive(&mut queue.listener()).await;
    assert_eq!(received.deliveries, [delivery]);
    received.done().await;
}

/// An acknowledged notification is gone: neither the same listener nor a later one gets it.
pub async fn acknowledged_notification_does_not_come_again<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    for _ in 0..5 {
        let mut listener = queue.listener();
        for _ in 0..3 {
            let delivery = notify_once(&queue).await;
            let received = receive(&mut listener).await;
            assert_eq!(received.deliveries, [delivery]);
            received.done().await;
        }
    }
}

/// A worker that stops listening may finish its work.
pub async fn notification_can_be_acknowledged_after_its_listener_is_dropped<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    notify_once(&queue).await;
    let mut first = queue.listener();
    let held = receive(&mut first).await;
    drop(first);
    held.done().await;
    let later = notify_once(&queue).await;
    let received = receive(&mut queue.listener()).await;
    assert_eq!(received.deliveries, [later]);
    received.done().await;
}
