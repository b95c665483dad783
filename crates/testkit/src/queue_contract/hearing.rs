//! Rings arrive, whole, at one bell each.

use std::collections::HashSet;
use std::time::Duration;

use pipeline::DeliveryId;
use tokio::time::timeout;

use super::{ROOMY, Subject, hear, ring, ring_once};
use crate::patience::soon;

/// What is rung is heard.
pub async fn a_ring_arrives_with_its_ids<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = ring_once(&queue).await;
    let heard = hear(&mut queue.bell()).await;
    assert_eq!(heard.deliveries, [delivery]);
    heard.done().await;
}

/// One commit of many deliveries is one ring.
pub async fn one_ring_carries_many_ids_in_order<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let deliveries: Vec<DeliveryId> = (0..256).map(|_| DeliveryId::new()).collect();
    ring(&queue, &deliveries).await;
    let heard = hear(&mut queue.bell()).await;
    assert_eq!(heard.deliveries, deliveries);
    heard.done().await;
}

/// An empty batch wakes nobody.
pub async fn ringing_for_nothing_rings_nothing<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    ring(&queue, &[]).await;
    let delivery = ring_once(&queue).await;
    let heard = hear(&mut queue.bell()).await;
    assert_eq!(heard.deliveries, [delivery]);
    heard.done().await;
}

/// A worker that starts late hears all, in order.
pub async fn rings_wait_until_somebody_listens<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let mut rung = Vec::new();
    for _ in 0..5 {
        rung.push(ring_once(&queue).await);
    }
    let mut bell = queue.bell();
    for delivery in rung {
        let heard = hear(&mut bell).await;
        assert_eq!(heard.deliveries, [delivery]);
        heard.done().await;
    }
}

/// One slow worker does not keep the others from working.
pub async fn two_bells_hold_two_rings_at_once<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let (first, second) = (ring_once(&queue).await, ring_once(&queue).await);
    let (mut one, mut other) = (queue.bell(), queue.bell());
    let held = hear(&mut one).await;
    let also_held = hear(&mut other).await;
    assert_eq!(held.deliveries, [first]);
    assert_eq!(also_held.deliveries, [second]);
    held.done().await;
    also_held.done().await;
}

/// Every ring is heard by one of the bells, and by one alone.
pub async fn bells_share_the_rings_without_doubling_any<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let (mut one, mut other) = (queue.bell(), queue.bell());
    let mut sent = HashSet::new();
    for _ in 0..60 {
        sent.insert(ring_once(&queue).await);
    }
    let mut heard = Vec::new();
    while heard.len() < sent.len() {
        let next = async {
            tokio::select! { ring = one.next() => ring, ring = other.next() => ring }
        };
        let Some(ring) = soon("a ring is heard", next).await else {
            panic!("a bell ended");
        };
        heard.extend_from_slice(&ring.deliveries);
        ring.done().await;
    }
    let distinct: HashSet<DeliveryId> = heard.iter().copied().collect();
    assert_eq!(heard.len(), sent.len(), "a ring was heard twice");
    assert_eq!(distinct, sent);
}

/// `next` may be dropped at any moment, as `select!` does, without losing a
/// ring or hearing one twice.
pub async fn a_bell_dropped_while_it_waits_loses_nothing<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let mut bell = queue.bell();
    for round in 0..40_u64 {
        let delivery = ring_once(&queue).await;
        let glance = Duration::from_micros(round * 100);
        let heard = match timeout(glance, bell.next()).await {
            Ok(Some(ring)) => ring,
            Ok(None) => panic!("the bell ended"),
            Err(_) => hear(&mut bell).await,
        };
        assert_eq!(heard.deliveries, [delivery], "round {round}");
        heard.done().await;
    }
}
