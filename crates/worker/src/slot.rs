//! A slot: the right to be one of the deliveries that are processed at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One of a worker's slots. It can be given up while its delivery waits for another
/// server, so that the wait delays no other delivery.
pub(crate) struct Slot {
    slots: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// Waits for a free slot. `None` when the worker ends.
    pub(crate) async fn take(slots: &Arc<Semaphore>) -> Option<Self> {
        let permit = Arc::clone(slots).acquire_owned().await.ok()?;
        Some(Self {
            slots: Arc::clone(slots),
            permit: Some(permit),
        })
    }

    /// Waits without holding the slot, then takes one again.
    pub(crate) async fn without<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        self.permit = None;
        let done = waiting.await;
        self.permit = Arc::clone(&self.slots).acquire_owned().await.ok();
        done
    }
}
