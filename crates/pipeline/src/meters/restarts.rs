//! Long-lived tasks that failed and were started again: counted, and named to the operator.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A task that ran this long is healthy: its next restart waits only briefly, and it
/// is no longer named.
const HEALTHY_AFTER: Duration = Duration::from_mins(5);

/// The restarts of the tasks of one process. Clones share the same counts.
#[derive(Debug, Clone, Default)]
pub struct Restarts {
    counters: Family<TaskLabel, Counter>,
    failures: Arc<Mutex<BTreeMap<String, Failures>>>,
}

/// Label of a task: a word from a closed list, and for some the name of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskLabel {
    what: String,
}

/// The failures of one task since it was last healthy.
#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Restarts {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Restarts of long-lived tasks that failed, by task";
        registry.register("task_restarts", help, self.counters.clone());
    }

    /// Counts a restart and returns how long to wait before it.
    pub fn count(&self, task: &str) -> Duration {
        let label = TaskLabel {
            what: task.to_owned(),
        };
        self.counters.get_or_create_owned(&label).inc();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let last = Instant::now();
        let new = || Failures { count: 0, last };
        let entry = failures.entry(task.to_owned()).or_insert_with(new);
        if entry.last.elapsed() > HEALTHY_AFTER {
            entry.count = 0;
        }
        entry.last = last;
        let growth = 2_u32.saturating_pow(entry.count);
        entry.count = entry.count.saturating_add(1);
        FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT)
    }

    /// Runs what `start` returns to its end. If it panics, that is counted, and `start`
    /// is called again after a wait by `sleep`.
    pub async fn keep_running<T, S>(
        &self,
        task: &str,
        sleep: impl Fn(Duration) -> S,
        start: impl Fn() -> T,
    ) where
        T: Future<Output = ()>,
        S: Future<Output = ()>,
    {
        while run(Box::pin(start())).await == Ended::Panicked {
            sleep(self.count(task)).await;
        }
    }

    /// How often a task was restarted since the process began.
    pub fn of(&self, task: &str) -> u64 {
        let label = TaskLabel {
            what: task.to_owned(),
        };
        self.counters.get(&label).map_or(0, |counter| counter.get())
    }

    /// The tasks that failed in the last minutes; `None` when all are healthy.
    pub fn warning(&self) -> Option<String> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |failures: &Failures| failures.last.elapsed() <= HEALTHY_AFTER;
        let mut text = String::new();
        for (name, failures) in failures.iter().filter(|(_, failures)| is_recent(failures)) {
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(
                text,
                "{separator}{name} was restarted {} times",
                failures.count
            );
        }
        (!text.is_empty()).then_some(text)
    }
}

#[derive(PartialEq, Eq)]
enum Ended {
    Returned,
    Panicked,
}

/// Runs a task; a panic ends it and nothing else.
async fn run(task: impl Future<Output = ()>) -> Ended {
    let mut task = pin!(task);
    poll_fn(|context| {
        // After a panic the task is not polled again, so nobody sees what it left behind.
        match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(Ended::Returned),
            Err(_) => Poll::Ready(Ended::Panicked),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn panicking_task_is_run_again_counted_and_named() {
        let restarts = Restarts::default();
        assert_eq!(restarts.warning(), None);
        let starts = Cell::new(0);
        let waited = Cell::new(Duration::ZERO);
        let running = restarts.keep_running(
            "fragile",
            |wait| {
                waited.set(waited.get() + wait);
                std::future::ready(())
            },
            || {
                starts.set(starts.get() + 1);
                let start = starts.get();
                async move { assert!(start >= 3, "a test asked for it") }
            },
        );
        let ended = pin!(running).poll(&mut Context::from_waker(Waker::noop()));
        assert!(ended.is_ready());
        assert_eq!((starts.get(), restarts.of("fragile")), (3, 2));
        assert_eq!(waited.get(), 3 * FIRST_WAIT);
        let warning = restarts.warning();
        assert_eq!(warning.as_deref(), Some("fragile was restarted 2 times"));
    }
}
