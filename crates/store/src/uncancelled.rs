//! No caller's cancellation reaches the database.
//!
//! A future that is dropped between two messages of the wire protocol leaves its
//! connection inside an open transaction, and the pool hands that connection to
//! the next borrower, whose insert then reports success and is never committed.
//! So every unit of work runs in a task of its own, only the wait for it has a
//! timeout, and closing waits for all of them. The tasks run on the runtime that opened
//! the database, because a caller's runtime, such as the one of an HTTP thread, may end
//! before the work does.
//!
//! There is one exception. A server ends each statement by itself within seconds, so a
//! unit of work that gets no answer for several times its caller's timeout has a dead
//! connection. It is abandoned: otherwise such connections would fill the pool.

use std::future::Future;
use std::time::Duration;

use pipeline::StoreError;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::fault::{Cause, Fault};

/// How long a caller waits for a short unit of work. Together with what happens
/// around it, the answer "unavailable" is given within 3 s.
pub(crate) const SHORT: Duration = Duration::from_millis(2500);

/// How long a worker waits for its result to be written; waiting is cheaper than doing
/// the work again.
pub(crate) const LONG: Duration = Duration::from_secs(10);

/// A unit of work is abandoned after this many times its caller's timeout.
pub(crate) const ABANDONED_AFTER: u32 = 4;

/// Runs units of work to their end, also when their callers are gone.
#[derive(Debug, Clone)]
pub(crate) struct Uncancelled {
    runtime: Handle,
    tracker: TaskTracker,
}

impl Uncancelled {
    /// Units of work will run on the current runtime.
    pub(crate) fn here() -> Self {
        Self {
            runtime: Handle::current(),
            tracker: TaskTracker::new(),
        }
    }

    /// Runs `work` to its end and waits for it for at most `limit`.
    pub(crate) async fn run<T, W>(&self, limit: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let work = async move { timeout(limit * ABANDONED_AFTER, work).await };
        let task = self.tracker.spawn_on(work, &self.runtime);
        match timeout(limit, task).await {
            Ok(Ok(Ok(outcome))) => outcome.map_err(StoreError::from),
            Ok(Ok(Err(_elapsed))) | Err(_elapsed) => Err(no_answer(limit)),
            Ok(Err(_panic)) => Err(ended_without_answer()),
        }
    }

    /// Runs `work` to its end, without waiting for it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn_on(work, &self.runtime);
    }

    /// Waits until every unit of work that was begun has ended.
    pub(crate) async fn finish(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// A unit of work panicked.
pub(crate) fn ended_without_answer() -> StoreError {
    let cause = "the unit of work ended without an answer".to_owned();
    StoreError::Broken(Box::new(Cause(cause)))
}

pub(crate) fn no_answer(limit: Duration) -> StoreError {
    let cause = format!("no answer within {} ms", limit.as_millis());
    StoreError::Unavailable(Box::new(Cause(cause)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn work_continues_after_its_caller_timed_out_and_closing_waits_for_it() {
        let uncancelled = Uncancelled::here();
        let (go, ended) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let work = {
            let (go, ended) = (Arc::clone(&go), Arc::clone(&ended));
            async move {
                go.notified().await;
                ended.store(true, Ordering::SeqCst);
                Ok(())
            }
        };
        let waited = uncancelled.run(Duration::from_millis(50), work).await;
        assert!(matches!(waited, Err(StoreError::Unavailable(_))));
        assert!(!ended.load(Ordering::SeqCst));
        go.notify_one();
        uncancelled.finish().await;
        assert!(ended.load(Ordering::SeqCst));
    }

    #[test]
    fn work_continues_when_the_runtime_of_its_caller_ends() {
        let opener = tokio::runtime::Runtime::new().unwrap();
        let uncancelled = opener.block_on(async { Uncancelled::here() });
        let (go, ended) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let work = {
            let (go, ended) = (Arc::clone(&go), Arc::clone(&ended));
            async move {
                go.notified().await;
                ended.store(true, Ordering::SeqCst);
                Ok(())
            }
        };
        let caller = tokio::runtime::Builder::new_current_thread();
        let caller = { caller }.enable_time().build().unwrap();
        let waited = caller.block_on(uncancelled.run(Duration::from_millis(50), work));
        assert!(matches!(waited, Err(StoreError::Unavailable(_))));
        drop(caller);
        go.notify_one();
        opener.block_on(uncancelled.finish());
        assert!(ended.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn work_without_an_answer_is_abandoned_and_closing_ends() {
        let uncancelled = Uncancelled::here();
        let work = std::future::pending::<Result<(), Fault>>();
        let waited = uncancelled.run(Duration::from_millis(10), work).await;
        assert!(matches!(waited, Err(StoreError::Unavailable(_))));
        uncancelled.finish().await;
    }
}
