//! The queue is a doorbell: it says that deliveries wait and carries their ids.
//! Losing a ring loses nothing, for the sweeper rings again for rows that are due.

use async_trait::async_trait;

use crate::DeliveryId;

/// The bell could not be rung.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The broker is away, blocked, or did not confirm in time.
    #[error("the queue is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The queue took no more; a bounded queue is full, or none is bound.
    #[error("the queue refused the ring: {0}")]
    Refused(&'static str),
}

/// Rings for deliveries that wait.
#[async_trait]
pub trait Doorbell: Send + Sync {
    /// Rings once for all of these. `Ok` means that the queue has taken
    /// responsibility for the ring, not that a worker has heard it.
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError>;
}

/// Hears rings.
#[async_trait]
pub trait DoorbellListener: Send {
    /// The next ring; waits through outages of the broker, and ends with `None`
    /// only when the queue is closed for good. Safe to drop while it waits.
    async fn next(&mut self) -> Option<Notification>;
}

/// Tells the queue that a ring is dealt with.
#[async_trait]
pub trait Acknowledge: Send {
    /// Takes the ring off the queue. A failure is not reported: the ring then
    /// comes again and finds its deliveries finished.
    async fn acknowledge(self: Box<Self>);
}

/// One ring, to be answered once.
pub struct Notification {
    /// The deliveries it was rung for.
    pub deliveries: Vec<DeliveryId>,
    acknowledge: Box<dyn Acknowledge>,
}

impl Notification {
    /// A ring for `deliveries` that is answered through `acknowledge`.
    pub fn new(deliveries: Vec<DeliveryId>, acknowledge: Box<dyn Acknowledge>) -> Self {
        Self {
            deliveries,
            acknowledge,
        }
    }

    /// Answers the ring; by moving it, a second answer cannot be written. A
    /// ring dropped without this comes again.
    pub async fn done(self) {
        self.acknowledge.acknowledge().await;
    }
}
