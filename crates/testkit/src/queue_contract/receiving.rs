//! Each notification arrives complete at one listener.

use std::collections::HashSet;
use std::time::Duration;

use pipeline::DeliveryId;
use tokio::time::timeout;

use super::{QueueSubject, ROOMY, notify, notify_once, receive};
use crate::wait::soon;

/// A notification reaches the listener.
pub async fn notification_arrives_with_its_ids<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = notify_once(&queue).await;
    let received = receive(&mut queue.listener()).await;
    assert_eq!(received.deliveries, [delivery]);
    received.done().await;
}

/// One commit of many deliveries sends one notification.
pub async fn one_notification_carries_many_ids_in_order<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let deliveries: Vec<DeliveryId> = (0..256).map(|_| DeliveryId::new()).collect();
    notify(&queue, &deliveries).await;
    let received = receive(&mut queue.listener()).await;
    assert_eq!(received.deliveries, deliveries);
    received.done().await;
}

/// An empty batch wakes no listener.
pub async fn notification_about_no_deliveries_is_not_sent<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    notify(&queue, &[]).await;
    let delivery = notify_once(&queue).await;
    let received = receive(&mut queue.listener()).await;
    assert_eq!(received.deliveries, [delivery]);
    received.done().await;
}

/// A worker that starts later gets all notifications in order.
pub async fn notifications_wait_for_a_listener<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let mut sent_in_order = Vec::new();
    for _ in 0..5 {
        sent_in_order.push(notify_once(&queue).await);
    }
    let mut listener = queue.listener();
    for delivery in sent_in_order {
        let received = receive(&mut listener).await;
        assert_eq!(received.deliveries, [delivery]);
        received.done().await;
    }
}

/// A slow worker does not block the others.
pub async fn two_listeners_hold_two_notifications_at_once<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let (first, second) = (notify_once(&queue).await, notify_once(&queue).await);
    let (mut one, mut other) = (queue.listener(), queue.listener());
    let held = receive(&mut one).await;
    let also_held = receive(&mut other).await;
    assert_eq!(held.deliveries, [first]);
    assert_eq!(also_held.deliveries, [second]);
    held.done().await;
    also_held.done().await;
}

/// Every notification goes to exactly one listener.
pub async fn each_notification_goes_to_one_listener<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let (mut one, mut other) = (queue.listener(), queue.listener());
    let mut sent = HashSet::new();
    for _ in 0..60 {
        sent.insert(notify_once(&queue).await);
    }
    let mut received = Vec::new();
    while received.len() < sent.len() {
        let next = async {
            tokio::select! { it = one.next() => it, it = other.next() => it }
        };
        let Some(notification) = soon("a notification arrives", next).await else {
            panic!("a listener ended");
        };
        received.extend_from_slice(&notification.deliveries);
        notification.done().await;
    }
    let distinct: HashSet<DeliveryId> = received.iter().copied().collect();
    assert_eq!(received.len(), sent.len(), "a notification arrived twice");
    assert_eq!(distinct, sent);
}

/// The future of `next` may be dropped at any moment, as `select!` does, without losing or
/// repeating a notification.
pub async fn listener_dropped_while_it_waits_loses_nothing<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let mut listener = queue.listener();
    for round in 0..40_u64 {
        let delivery = notify_once(&queue).await;
        let moment = Duration::from_micros(round * 100);
        let received = match timeout(moment, listener.next()).await {
            Ok(Some(notification)) => notification,
            Ok(None) => panic!("the listener ended"),
            Err(_) => receive(&mut listener).await,
        };
        assert_eq!(received.deliveries, [delivery], "round {round}");
        received.done().await;
    }
}
