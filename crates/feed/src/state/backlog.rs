//! How much mail is unprocessed, read from the store at most once a second. Every
//! pending attempt asks for it, and counting rows is not free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pipeline::{Backlog, DeliveryLog, StoreError, Timestamp};
use tokio::time::Instant;

/// For how long a count is reused.
const CACHE_TIME: Duration = Duration::from_secs(1);

/// The backlog as one process last read it.
pub(crate) struct BacklogCache {
    log: Arc<dyn DeliveryLog>,
    /// The last count, and until when it is reused.
    last: Mutex<Option<(Backlog, Instant)>>,
}

impl BacklogCache {
    pub(super) fn new(log: Arc<dyn DeliveryLog>) -> Self {
        let last = Mutex::default();
        Self { log, last }
    }

    /// The backlog, at most about a second old, and never from before `since`.
    pub(crate) async fn read(&self, since: Option<Timestamp>) -> Result<Backlog, StoreError> {
        let is_new = |backlog: &Backlog| since.is_none_or(|since| backlog.at >= since);
        if let Some(backlog) = self.cached().filter(is_new) {
            return Ok(backlog);
        }
        let backlog = self.log.backlog().await?;
        *self.last() = Some((backlog, Instant::now() + CACHE_TIME));
        Ok(backlog)
    }

    fn cached(&self) -> Option<Backlog> {
        let now = Instant::now();
        let mut last = self.last();
        let (backlog, until) = (*last)?;
        if now < until {
            return Some(backlog);
        }
        // This caller reads the backlog again. Meanwhile the others use the stale one.
        *last = Some((backlog, now + CACHE_TIME));
        None
    }

    fn last(&self) -> MutexGuard<'_, Option<(Backlog, Instant)>> {
        // No panic can leave the pair half-written, so a poisoned lock is safe to use.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
