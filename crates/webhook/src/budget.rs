//! How many bytes of bodies are in memory at once. Every byte that is read is
//! taken from one budget and given back when its post is answered and its
//! commit has ended, so a slow database fills the budget and not the memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a post costs besides its body: headers, answer, its place in the queue.
/// Without it a flood of empty bodies would be free.
const OVERHEAD: usize = 1024;

/// The budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spent;

/// The bytes that may still be taken.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

/// Bytes that were taken; dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Budget,
    permit: OwnedSemaphorePermit,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// Takes what a post costs before its body.
    pub(crate) fn hold(&self) -> Result<Held, Spent> {
        Ok(Held {
            permit: self.take(OVERHEAD)?,
            budget: self.clone(),
        })
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Spent> {
        let bytes = u32::try_from(bytes).ok().ok_or(Spent)?;
        Arc::clone(&self.0)
            .try_acquire_many_owned(bytes)
            .ok()
            .ok_or(Spent)
    }
}

impl Held {
    /// Takes `bytes` more.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Spent> {
        self.permit.merge(self.budget.take(bytes)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_taken_again() {
        let budget = Budget::new(2 * OVERHEAD);
        let mut first = budget.hold().expect("room");
        first.grow(OVERHEAD).expect("room");
        assert_eq!(budget.hold().err(), Some(Spent));
        assert_eq!(first.grow(1).err(), Some(Spent));
        drop(first);
        assert!(budget.hold().is_ok());
    }
}
