//! A ring is off the queue when it is answered, and not before.

use super::{ROOMY, Subject, hear, ring_once};

/// Whoever drops a ring has not answered it.
pub async fn a_ring_dropped_without_an_answer_comes_again<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = ring_once(&queue).await;
    let mut bell = queue.bell();
    for _ in 0..3 {
        let dropped = hear(&mut bell).await;
        assert_eq!(dropped.deliveries, [delivery]);
        drop(dropped);
    }
    hear(&mut bell).await.done().await;
}

/// A worker that is gone leaves its rings to the others.
pub async fn the_ring_of_a_dropped_bell_comes_to_another<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let delivery = ring_once(&queue).await;
    let mut first = queue.bell();
    let dropped = hear(&mut first).await;
    drop(first);
    drop(dropped);
    let heard = hear(&mut queue.bell()).await;
    assert_eq!(heard.deliveries, [delivery]);
    heard.done().await;
}

/// An answer takes the ring off the queue for good: neither the bell that
/// answered nor a later one hears it again.
pub async fn an_answered_ring_does_not_come_again<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    for _ in 0..5 {
        let mut bell = queue.bell();
        for _ in 0..3 {
            let delivery = ring_once(&queue).await;
            let heard = hear(&mut bell).await;
            assert_eq!(heard.deliveries, [delivery]);
            heard.done().await;
        }
    }
}

/// A worker that stops listening may finish what it has begun.
pub async fn a_ring_may_be_answered_after_its_bell_is_gone<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    ring_once(&queue).await;
    let mut first = queue.bell();
    let held = hear(&mut first).await;
    drop(first);
    held.done().await;
    let later = ring_once(&queue).await;
    let heard = hear(&mut queue.bell()).await;
    assert_eq!(heard.deliveries, [later]);
    heard.done().await;
}
