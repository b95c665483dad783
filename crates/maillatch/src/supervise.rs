//! Supervises long-lived tasks. A task that panics or returns early is started again
//! after a wait that doubles. Restarts are counted and named in `/readyz`, and so are
//! tasks that do nothing for too long.

use pipeline::Tasks;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Starts tasks and starts them again when they fail.
#[derive(Clone)]
pub(crate) struct Supervisor {
    tasks: Tasks,
    stop: CancellationToken,
}

impl Supervisor {
    pub(crate) fn new(tasks: Tasks, stop: CancellationToken) -> Self {
        Self { tasks, stop }
    }

    /// Cancelled when the process stops.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs the task that `start` returns until it ends after the stop was requested.
    /// If it ends before, `start` is called again.
    pub(crate) fn spawn<T>(
        &self,
        name: &'static str,
        start: impl Fn() -> T + Send + 'static,
    ) -> JoinHandle<()>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let this = self.clone();
        tokio::spawn(async move {
            loop {
                let ended = tokio::spawn(start()).await;
                if this.stop.is_cancelled() {
                    return;
                }
                let wait = this.tasks.count(name);
                let error = ended.err().map(|error| error.to_string());
                tracing::error!(
                    task = name,
                    error,
                    restart_in_seconds = wait.as_secs_f64(),
                    "a task ended; it is started again"
                );
                let waiting = tokio::time::sleep(wait);
                if this.stop.run_until_cancelled(waiting).await.is_none() {
                    return;
                }
            }
        })
    }

    /// The tasks that failed in the last minutes or do nothing, for `/readyz`; `None` when
    /// all are healthy.
    pub(crate) fn warning(&self) -> Option<String> {
        self.tasks.warning()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn panicking_task_is_restarted_counted_and_named() {
        let stop = CancellationToken::new();
        let tasks = Tasks::default();
        let supervisor = Supervisor::new(tasks.clone(), stop.clone());
        let starts = Arc::new(AtomicU32::new(0));
        assert_eq!(supervisor.warning(), None);
        let (counted, stopped) = (Arc::clone(&starts), stop.clone());
        let task = supervisor.spawn("fragile", move || {
            let (start, stop) = (counted.fetch_add(1, Ordering::SeqCst), stopped.clone());
            async move {
                assert!(start >= 2, "a test asked for it");
                stop.cancelled().await;
            }
        });
        let restarted = async || (starts.load(Ordering::SeqCst) == 3).then_some(());
        testkit::wait::until("the task is started a third time", restarted).await;
        assert_eq!(tasks.of("fragile"), 2);
        let warning = supervisor.warning();
        assert_eq!(warning.as_deref(), Some("fragile was restarted 2 times"));
        stop.cancel();
        task.await.unwrap();
    }
}
