//! The queue is a doorbell: it tells workers that deliveries are waiting and carries only
//! their ids. Losing a notification loses no data: the sweeper notifies again for every
//! row that is due.

use async_trait::async_trait;

use crate::DeliveryId;

/// The queue could not be notified.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The broker is unreachable, blocks publishers, or did not confirm in time.
    #[error("the queue is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The queue accepts no more: it is full, or it does not exist.
    #[error("the queue refused the notification: {0}")]
    Refused(&'static str),
}

/// The sending side of the queue.
#[async_trait]
pub trait Doorbell: Send + Sync {
    /// Sends one notification for all of these deliveries. `Ok` means that the queue has
    /// accepted it, not that a worker has received it.
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError>;
}

/// The receiving side of the queue.
#[async_trait]
pub trait DoorbellListener: Send {
    /// The next notification. Waits through outages of the broker and returns `None`
    /// only when the queue is closed for good. The future may be dropped while it
    /// waits; no notification is lost.
    async fn next(&mut self) -> Option<Notification>;
}

/// Acknowledges one notification.
#[async_trait]
pub trait Acknowledge: Send {
    /// Removes the notification from the queue. A failure is not reported: the
    /// notification is then delivered again and finds its deliveries finished.
    async fn acknowledge(self: Box<Self>);
}

/// One notification, to be acknowledged once.
pub struct Notification {
    /// The deliveries it is about.
    pub deliveries: Vec<DeliveryId>,
    acknowledge: Box<dyn Acknowledge>,
}

impl Notification {
    /// A notification about `deliveries`, acknowledged through `acknowledge`.
    pub fn new(deliveries: Vec<DeliveryId>, acknowledge: Box<dyn Acknowledge>) -> Self {
        Self {
            deliveries,
            acknowledge,
        }
    }

    /// Acknowledges the notification. It takes `self`, so that no code can do it twice.
    /// A notification that is dropped without this is delivered again.
    pub async fn done(self) {
        self.acknowledge.acknowledge().await;
    }
}
