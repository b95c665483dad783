//! The queue inside one process: a bounded list shared by its consumers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pipeline::{
    Acknowledge, DeliveryId, Doorbell, DoorbellListener, Notification, Probe, ProbeError,
    QueueError,
};
use tokio::sync::Semaphore;

/// The queue inside one process.
pub(crate) struct InProcess {
    shared: Arc<Shared>,
}

struct Shared {
    notifications: Mutex<Notifications>,
    /// One permit for each waiting notification, so that consumers sleep while there is none.
    /// Closed together with the queue.
    waiting: Semaphore,
    /// The limit of waiting and unacknowledged notifications together, so that an
    /// unacknowledged notification can always be redelivered.
    capacity: usize,
}

#[derive(Default)]
struct Notifications {
    waiting: VecDeque<Vec<DeliveryId>>,
    unacknowledged: usize,
}

impl InProcess {
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                notifications: Mutex::default(),
                waiting: Semaphore::new(0),
                capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            }),
        }
    }

    pub(crate) fn bell(&self) -> Box<dyn DoorbellListener> {
        Box::new(InProcessListener {
            shared: Arc::clone(&self.shared),
        })
    }

    pub(crate) fn close(&self) {
        self.shared.waiting.close();
    }
}

impl Shared {
    /// A poisoned lock is safe to use: the list holds only ids and counts.
    fn notifications(&self) -> MutexGuard<'_, Notifications> {
        self.notifications
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        let mut notifications = self.notifications();
        if notifications.waiting.len() + notifications.unacknowledged >= self.capacity {
            return Err(QueueError::Refused("it is full"));
        }
        notifications.waiting.push_back(deliveries.to_vec());
        drop(notifications);
        self.waiting.add_permits(1);
        Ok(())
    }

    fn take(&self) -> Option<Vec<DeliveryId>> {
        let mut notifications = self.notifications();
        let deliveries = notifications.waiting.pop_front()?;
        notifications.unacknowledged += 1;
        Some(deliveries)
    }

    fn redeliver(&self, deliveries: Vec<DeliveryId>) {
        let mut notifications = self.notifications();
        notifications.unacknowledged -= 1;
        notifications.waiting.push_front(deliveries);
        drop(notifications);
        self.waiting.add_permits(1);
    }

    fn forget(&self) {
        self.notifications().unacknowledged -= 1;
    }
}

/// The queue was closed.
#[derive(Debug, thiserror::Error)]
#[error("the queue is closed")]
struct Closed;

#[async_trait]
impl Doorbell for InProcess {
    async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        if self.shared.waiting.is_closed() {
            return Err(QueueError::Unavailable(Box::new(Closed)));
        }
        if deliveries.is_empty() {
            return Ok(());
        }
        self.shared.push(deliveries)
    }
}

#[async_trait]
impl Probe for InProcess {
    fn name(&self) -> &'static str {
        "queue"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        if self.shared.waiting.is_closed() {
            return Err(ProbeError(Closed.to_string()));
        }
        Ok(())
    }
}

struct InProcessListener {
    shared: Arc<Shared>,
}

#[async_trait]
impl DoorbellListener for InProcessListener {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            // If this future is dropped, the semaphore gives the permit to another.
            let permit = self.shared.waiting.acquire().await.ok()?;
            permit.forget();
            if let Some(deliveries) = self.shared.take() {
                let acknowledgement = Acknowledgement {
                    deliveries: deliveries.clone(),
                    shared: Arc::clone(&self.shared),
                    is_acknowledged: false,
                };
                return Some(Notification::new(deliveries, Box::new(acknowledgement)));
            }
        }
    }
}

/// Acknowledges a notification, or redelivers it when it is dropped.
struct Acknowledgement {
    deliveries: Vec<DeliveryId>,
    shared: Arc<Shared>,
    is_acknowledged: bool,
}

#[async_trait]
impl Acknowledge for Acknowledgement {
    async fn acknowledge(mut self: Box<Self>) {
        self.is_acknowledged = true;
    }
}

impl Drop for Acknowledgement {
    fn drop(&mut self) {
        if self.is_acknowledged {
            self.shared.forget();
        } else {
            self.shared.redeliver(std::mem::take(&mut self.deliveries));
        }
    }
}
