//! A queue has an end: when it is full, and when it is closed.

use pipeline::{DeliveryId, QueueError};

use super::{ROOMY, Subject, hear};
use crate::patience::{soon, until};

/// How far over its capacity a queue may go before it must refuse; a broker
/// counts behind its publishers.
const SLACK: u32 = 500;

/// A full queue says so, and only for as long as it is full.
pub async fn a_full_queue_refuses_and_takes_again_when_it_has_room<Q: Subject>() {
    let capacity = 8;
    let queue = Q::open(capacity).await;
    let mut taken = 0;
    loop {
        match queue.doorbell().notify(&[DeliveryId::new()]).await {
            Ok(()) => taken += 1,
            Err(QueueError::Refused(_)) => break,
            Err(error) => panic!("neither taken nor refused: {error:?}"),
        }
        assert!(taken < capacity + SLACK, "it takes rings without end");
    }
    assert!(taken >= capacity, "it was full after {taken} rings");

    let mut bell = queue.bell();
    for _ in 0..taken {
        hear(&mut bell).await.done().await;
    }
    until("an empty queue takes a ring", || async {
        queue.doorbell().notify(&[DeliveryId::new()]).await.ok()
    })
    .await;
}

/// `None` is the end, for bells that wait and for bells that come later.
pub async fn closing_ends_every_bell<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    let mut waiting = queue.bell();
    let waiter = tokio::spawn(async move { waiting.next().await.is_none() });
    queue.close().await;
    match soon("the bell that waits ends", waiter).await {
        Ok(ended) => assert!(ended, "a ring came out of nothing"),
        Err(error) => panic!("the bell panicked: {error}"),
    }
    let late = soon("a later bell ends", async {
        queue.bell().next().await.is_none()
    })
    .await;
    assert!(late);
    soon("closing twice is closing once", queue.close()).await;
}

/// After the end nothing is taken.
pub async fn a_closed_queue_cannot_be_rung<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    queue.close().await;
    let rung = soon("ringing ends", async {
        queue.doorbell().notify(&[DeliveryId::new()]).await
    })
    .await;
    assert!(matches!(rung, Err(QueueError::Unavailable(_))), "{rung:?}");
}

/// The probe is about the queue as it is now.
pub async fn the_probe_tells_an_open_queue_from_a_closed_one<Q: Subject>() {
    let queue = Q::open(ROOMY).await;
    if let Err(error) = queue.probe().probe().await {
        panic!("an open queue: {error}");
    }
    queue.close().await;
    assert!(queue.probe().probe().await.is_err(), "a closed queue");
}
