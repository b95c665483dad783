//! The memory budget for bodies. Every byte that is read is reserved here, and
//! released when its post is answered and its commit has ended. A slow database
//! therefore uses up the budget and not the machine's memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a post costs besides its body: headers, answer, its place in the queue.
/// Without it a flood of empty bodies would cost nothing.
const OVERHEAD: usize = 1024;

/// The budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetSpent;

/// The bytes that can still be reserved.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Semaphore>);

/// Reserved bytes; dropping it releases them.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    permit: OwnedSemaphorePermit,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// Reserves what a post costs before its body.
    pub(crate) fn reserve(&self) -> Result<Reservation, BudgetSpent> {
        Ok(Reservation {
            permit: self.take(OVERHEAD)?,
            budget: self.clone(),
        })
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, BudgetSpent> {
        let bytes = u32::try_from(bytes).ok().ok_or(BudgetSpent)?;
        Arc::clone(&self.0)
            .try_acquire_many_owned(bytes)
            .ok()
            .ok_or(BudgetSpent)
    }
}

impl Reservation {
    /// Reserves `bytes` more.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), BudgetSpent> {
        self.permit.merge(self.budget.take(bytes)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_reservation_frees_its_bytes() {
        let budget = Budget::new(2 * OVERHEAD);
        let mut first = budget.reserve().expect("bytes are left");
        first.grow(OVERHEAD).expect("bytes are left");
        assert_eq!(budget.reserve().err(), Some(BudgetSpent));
        assert_eq!(first.grow(1).err(), Some(BudgetSpent));
        drop(first);
        assert!(budget.reserve().is_ok());
    }
}
