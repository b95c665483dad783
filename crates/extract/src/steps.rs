//! The step budget of one mail.
//!
//! Every loop over a mail charges the bytes that it touches. A mail that needs more
//! steps than its size allows ends as `too_costly`, at the same step on every machine.
//! One step takes one to two nanoseconds.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::refusal::Refusal;

/// Enough for any honest mail, however small.
const BASE: u64 = 10_000_000;
const PER_BYTE: u64 = 27;

/// Steps charged for a byte of text that is not ASCII, besides the steps of every byte: such
/// characters are looked up in tables.
pub(crate) const PER_FOREIGN_BYTE: usize = 24;

/// How many bytes of a text are not ASCII.
pub(crate) fn foreign_bytes(text: &str) -> usize {
    text.bytes().filter(|byte| !byte.is_ascii()).count()
}

/// The steps that reading one mail may take.
///
/// The budget is sticky: once it is spent, every further charge fails. So a loop that
/// cannot return an error just ends, and the reader refuses the mail afterwards.
#[derive(Debug)]
pub struct Steps<'s> {
    left: Cell<u64>,
    limit: u64,
    /// Set from another thread to end reading early.
    stop: Option<&'s AtomicBool>,
}

impl<'s> Steps<'s> {
    /// The budget of a mail of `size` bytes.
    pub fn for_size(size: usize) -> Self {
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let limit = size.saturating_mul(PER_BYTE).saturating_add(BASE);
        Self {
            left: Cell::new(limit),
            limit,
            stop: None,
        }
    }

    /// The same budget, which also counts as spent as soon as `stop` is set.
    #[must_use]
    pub fn until(self, stop: &'s AtomicBool) -> Self {
        Self {
            stop: Some(stop),
            ..self
        }
    }

    /// How many steps were taken so far.
    pub fn taken(&self) -> u64 {
        self.limit - self.left.get()
    }

    /// How many steps may be taken in all.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes steps. Returns whether the budget allows them.
    pub(crate) fn charge(&self, steps: usize) -> bool {
        let stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let left = if stopped { 0 } else { self.left.get() };
        self.left.set(left.saturating_sub(steps));
        // A budget that is used up to the last step counts as spent.
        left > steps
    }

    /// Fails if the budget is spent.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.left.get() == 0 {
            return Err(Refusal::TooCostly);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_budget_stays_spent() {
        let steps = Steps::for_size(0);
        assert!(steps.charge(1_000) && steps.check().is_ok());
        assert!(!steps.charge(usize::MAX));
        assert!(!steps.charge(0) && !steps.charge(1));
        assert_eq!(steps.check(), Err(Refusal::TooCostly));
        assert_eq!(steps.taken(), steps.limit());
    }

    #[test]
    fn stop_flag_ends_the_budget() {
        let stop = AtomicBool::new(false);
        let steps = Steps::for_size(0).until(&stop);
        assert!(steps.charge(1));
        stop.store(true, Ordering::Relaxed);
        assert!(!steps.charge(1));
        assert_eq!(steps.check(), Err(Refusal::TooCostly));
    }
}
