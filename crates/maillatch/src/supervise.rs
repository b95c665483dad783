//! Supervises long-lived tasks. A task that panics or returns early is started again
//! after a wait that doubles. Restarts are counted and named in `/readyz`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pipeline::{KindLabel, Meters};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A task that ran this long is healthy: its next restart waits only briefly, and it
/// is no longer named in `/readyz`.
const HEALTHY_AFTER: Duration = Duration::from_mins(5);

/// Starts tasks and starts them again when they fail.
#[derive(Clone)]
pub(crate) struct Supervisor {
    meters: Meters,
    stop: CancellationToken,
    failures: Arc<Mutex<BTreeMap<&'static str, Failures>>>,
}

/// The failures of one task since it was last healthy.
struct Failures {
    count: u32,
    last: Instant,
}

impl Supervisor {
    pub(crate) fn new(meters: Meters, stop: CancellationToken) -> Self {
        Self {
            meters,
            stop,
            failures: Arc::default(),
        }
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
                let wait = this.count_failure(name);
                let error = ended.err().map(|error| error.to_string());
                tracing::error!(
                    task = name,
                    error,
                    ?wait,
                    "a task ended; it is started again"
                );
                let waiting = tokio::time::sleep(wait);
                if this.stop.run_until_cancelled(waiting).await.is_none() {
                    return;
                }
            }
        })
    }

    /// Counts a failure and returns how long to wait before the restart.
    fn count_failure(&self, name: &'static str) -> Duration {
        let label = KindLabel { what: name };
        self.meters.task_restarts.get_or_create_owned(&label).inc();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        let entry = failures.entry(name).or_insert(Failures { count: 0, last });
        if entry.last.elapsed() > HEALTHY_AFTER {
            entry.count = 0;
        }
        entry.last = last;
        let growth = 2_u32.saturating_pow(entry.count);
        entry.count = entry.count.saturating_add(1);
        let full = FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT);
        full.mul_f64(0.5 + 0.5 * rand::random::<f64>())
    }

    /// The tasks that failed in the last minutes, for `/readyz`; `None` when all are
    /// healthy.
    pub(crate) fn warning(&self) -> Option<String> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = failures
            .iter()
            .filter(|(_, failures)| failures.last.elapsed() <= HEALTHY_AFTER);
        let mut text = String::new();
        for (name, Failures { count, .. }) in recent {
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{separator}{name} was restarted {count} times");
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use prometheus_client::registry::Registry;

    use super::*;

    #[tokio::test]
    async fn panicking_task_is_restarted_counted_and_named() {
        let stop = CancellationToken::new();
        let meters = Meters::register(&mut Registry::default());
        let supervisor = Supervisor::new(meters.clone(), stop.clone());
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
        while starts.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
        let label = KindLabel { what: "fragile" };
        assert_eq!(meters.task_restarts.get_or_create(&label).get(), 2);
        let warning = supervisor.warning();
        assert_eq!(warning.as_deref(), Some("fragile was restarted 2 times"));
        stop.cancel();
        task.await.unwrap();
    }
}
