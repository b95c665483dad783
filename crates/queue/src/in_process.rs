//! The queue inside one process: a bounded list that bells take turns on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pipeline::{
    Acknowledge, DeliveryId, Doorbell, DoorbellListener, Notification, Probe, ProbeError,
    QueueError,
};
use tokio::sync::Semaphore;

/// The queue's two ends and its middle.
pub(crate) struct InProcess {
    shared: Arc<Shared>,
}

struct Shared {
    rings: Mutex<Rings>,
    /// One permit for each waiting ring, so that a bell sleeps exactly while
    /// nothing waits; closed when the queue is.
    waiting: Semaphore,
    /// Waiting rings and rings in hand together may not be more than this, so
    /// that a ring in hand can always be put back.
    capacity: usize,
}

#[derive(Default)]
struct Rings {
    waiting: VecDeque<Vec<DeliveryId>>,
    in_hand: usize,
}

impl InProcess {
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                rings: Mutex::default(),
                waiting: Semaphore::new(0),
                capacity: usize::try_from(capacity).unwrap_or(usize::MAX),
            }),
        }
    }

    pub(crate) fn bell(&self) -> Box<dyn DoorbellListener> {
        Box::new(InProcessBell {
            shared: Arc::clone(&self.shared),
        })
    }

    pub(crate) fn close(&self) {
        self.shared.waiting.close();
    }
}

impl Shared {
    /// The list holds plain ids and counts, which no panic leaves half-written.
    fn rings(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
        let mut rings = self.rings();
        if rings.waiting.len() + rings.in_hand >= self.capacity {
            return Err(QueueError::Refused("it is full"));
        }
        rings.waiting.push_back(deliveries.to_vec());
        drop(rings);
        self.waiting.add_permits(1);
        Ok(())
    }

    fn take(&self) -> Option<Vec<DeliveryId>> {
        let mut rings = self.rings();
        let deliveries = rings.waiting.pop_front()?;
        rings.in_hand += 1;
        Some(deliveries)
    }

    fn retry_later(&self, deliveries: Vec<DeliveryId>) {
        let mut rings = self.rings();
        rings.in_hand -= 1;
        rings.waiting.push_front(deliveries);
        drop(rings);
        self.waiting.add_permits(1);
    }

    fn forget(&self) {
        self.rings().in_hand -= 1;
    }
}

/// Nobody can ring or hear any more.
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

struct InProcessBell {
    shared: Arc<Shared>,
}

#[async_trait]
impl DoorbellListener for InProcessBell {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            // Dropped while it waits, the semaphore passes the permit on.
            let permit = self.shared.waiting.acquire().await.ok()?;
            permit.forget();
            if let Some(deliveries) = self.shared.take() {
                let answer = Answer {
                    deliveries: deliveries.clone(),
                    shared: Arc::clone(&self.shared),
                    is_answered: false,
                };
                return Some(Notification::new(deliveries, Box::new(answer)));
            }
        }
    }
}

/// What a ring in hand owes the queue: an answer, or itself back.
struct Answer {
    deliveries: Vec<DeliveryId>,
    shared: Arc<Shared>,
    is_answered: bool,
}

#[async_trait]
impl Acknowledge for Answer {
    async fn acknowledge(mut self: Box<Self>) {
        self.is_answered = true;
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.is_answered {
            self.shared.forget();
        } else {
            self.shared
                .retry_later(std::mem::take(&mut self.deliveries));
        }
    }
}
