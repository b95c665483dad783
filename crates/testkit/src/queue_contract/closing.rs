//! A queue that is full, and a queue that is closed.

use pipeline::{DeliveryId, QueueError};

use super::{QueueSubject, ROOMY, receive};
use crate::wait::{soon, until};

/// How far over its capacity a queue may go before it refuses: a broker counts with a delay.
const SLACK: u32 = 500;

/// A full queue refuses notifications, and only while it is full.
pub async fn full_queue_refuses_until_it_has_room<Q: QueueSubject>() {
    let capacity = 8;
    let queue = Q::open(capacity).await;
    let mut accepted = 0;
    loop {
        match queue.doorbell().notify(&[DeliveryId::new()]).await {
            Ok(()) => accepted += 1,
            Err(QueueError::Refused(_)) => break,
            Err(error) => panic!("neither accepted nor refused: {error:?}"),
        }
        assert!(accepted < capacity + SLACK, "the queue never refuses");
    }
    assert!(
        accepted >= capacity,
        "the queue was full after {accepted} notifications"
    );

    let mut listener = queue.listener();
    for _ in 0..accepted {
        receive(&mut listener).await.done().await;
    }
    until("an empty queue accepts a notification", || async {
        queue.doorbell().notify(&[DeliveryId::new()]).await.ok()
    })
    .await;
}

/// `next` returns `None` for listeners that wait and for listeners that are made later.
pub async fn closing_ends_every_listener<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    let mut waiting = queue.listener();
    let waiter = tokio::spawn(async move { waiting.next().await.is_none() });
    queue.close().await;
    match soon("the listener that waits ends", waiter).await {
        Ok(ended) => assert!(ended, "an unexpected notification"),
        Err(error) => panic!("the listener panicked: {error}"),
    }
    let late = soon("a later listener ends", async {
        queue.listener().next().await.is_none()
    })
    .await;
    assert!(late);
    soon("the queue closes again", queue.close()).await;
}

/// A closed queue accepts nothing.
pub async fn closed_queue_cannot_be_notified<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    queue.close().await;
    let answer = soon("the notification is answered", async {
        queue.doorbell().notify(&[DeliveryId::new()]).await
    })
    .await;
    assert!(
        matches!(answer, Err(QueueError::Unavailable(_))),
        "{answer:?}"
    );
}

/// The probe reports the present state of the queue.
pub async fn probe_fails_when_the_queue_is_closed<Q: QueueSubject>() {
    let queue = Q::open(ROOMY).await;
    if let Err(error) = queue.probe().probe().await {
        panic!("an open queue: {error}");
    }
    queue.close().await;
    assert!(queue.probe().probe().await.is_err(), "a closed queue");
}
