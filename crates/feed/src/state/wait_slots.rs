//! How many waits each key has open, so that one key cannot use all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline::ConsumerId;
use prometheus_client::metrics::gauge::Gauge;

/// The open waits of a process, counted for each key.
pub(crate) struct WaitSlots {
    limit: usize,
    open: Mutex<HashMap<ConsumerId, usize>>,
    gauge: Gauge,
}

impl WaitSlots {
    pub(super) fn new(limit: usize, gauge: Gauge) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: Mutex::default(),
            gauge,
        })
    }

    /// A slot for one wait; `None` if this consumer already uses all of its slots.
    pub(crate) fn take(self: &Arc<Self>, consumer: &ConsumerId) -> Option<WaitSlot> {
        let mut open = self.open();
        let used = open.entry(consumer.clone()).or_default();
        if *used >= self.limit {
            return None;
        }
        *used += 1;
        self.gauge.inc();
        Some(WaitSlot {
            slots: Arc::clone(self),
            consumer: consumer.clone(),
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ConsumerId, usize>> {
        // No panic can leave a count half-written, so a poisoned lock is safe to use.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot in use. Dropping it frees it.
pub(crate) struct WaitSlot {
    slots: Arc<WaitSlots>,
    consumer: ConsumerId,
}

impl Drop for WaitSlot {
    fn drop(&mut self) {
        let mut open = self.slots.open();
        if let Some(used) = open.get_mut(&self.consumer) {
            *used -= 1;
            if *used == 0 {
                open.remove(&self.consumer);
            }
        }
        self.slots.gauge.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_per_consumer_and_freed_on_drop() {
        let slots = WaitSlots::new(2, Gauge::default());
        let (a, b): (ConsumerId, ConsumerId) = ("a".parse().unwrap(), "b".parse().unwrap());
        let first = slots.take(&a).unwrap();
        let _second = slots.take(&a).unwrap();
        assert!(slots.take(&a).is_none());
        let other = slots.take(&b).unwrap();
        assert_eq!(slots.gauge.get(), 3);
        drop((first, other));
        assert!(slots.take(&a).is_some());
        assert_eq!(slots.gauge.get(), 1);
        assert_eq!(slots.open().len(), 1);
    }
}
