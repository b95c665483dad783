//! What waits to be processed, asked of the store once a second at most: every
//! attempt that hears nothing wants to know, and counting is not free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{Backlog, DeliveryLog};
use tokio::time::Instant;

use crate::patience::patiently;
use crate::problem::Problem;

/// For how long an answer needs no further look.
const BELIEVED: Duration = Duration::from_secs(1);

/// The backlog of one process.
pub(crate) struct Unprocessed {
    log: Arc<dyn DeliveryLog>,
    /// The last answer, and until when it is believed.
    known: Mutex<Option<(Backlog, Instant)>>,
}

impl Unprocessed {
    pub(crate) fn of(log: Arc<dyn DeliveryLog>) -> Self {
        let known = Mutex::default();
        Self { log, known }
    }

    /// How much waits, or did a second ago.
    pub(crate) async fn backlog(&self) -> Result<Backlog, Problem> {
        if let Some(backlog) = self.believed() {
            return Ok(backlog);
        }
        let backlog = patiently(self.log.backlog()).await?;
        *self.known() = Some((backlog, Instant::now() + BELIEVED));
        Ok(backlog)
    }

    fn believed(&self) -> Option<Backlog> {
        let now = Instant::now();
        let mut known = self.known();
        let (backlog, until) = (*known)?;
        if now < until {
            return Some(backlog);
        }
        // Whoever finds it old looks, and the others go by the old one meanwhile.
        *known = Some((backlog, now + BELIEVED));
        None
    }

    fn known(&self) -> MutexGuard<'_, Option<(Backlog, Instant)>> {
        // The answer is whole whenever the lock is free, also after a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
