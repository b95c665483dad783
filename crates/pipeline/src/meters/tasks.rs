//! The long-lived tasks of a process: which of them failed and were started again, and
//! which have not finished a round for too long.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::label::OfTask;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A task that ran this long is healthy: its next restart waits only briefly, and it
/// is no longer named.
const HEALTHY_AFTER: Duration = Duration::from_mins(5);

/// The tasks of one process. Clones share the same counts.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    restarts: Family<OfTask, Counter>,
    late: Family<OfTask, Gauge>,
    known: Arc<Mutex<BTreeMap<String, Task>>>,
}

/// What is known of one task.
#[derive(Debug, Default)]
struct Task {
    failures: Option<Failures>,
    round: Option<Round>,
}

/// The failures of one task since it was last healthy.
#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

/// The last round that a task finished.
#[derive(Debug, Clone, Copy)]
struct Round {
    at: Instant,
    /// How long the next one may take.
    within: Duration,
}

impl Round {
    /// For how long the task has done nothing, if that is too long.
    fn silence(self) -> Option<Duration> {
        let silence = self.at.elapsed();
        (silence > self.within).then_some(silence)
    }
}

impl Tasks {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Restarts of background tasks that failed, by task";
        registry.register("task_restarts", help, self.restarts.clone());
        let help = "1 while a background task has not finished a round for too long, by task";
        registry.register("task_late", help, self.late.clone());
    }

    /// Notes that a task has finished a round, or a step of a long one. If the next one is
    /// not finished within this time, the task is named as stuck.
    pub fn round(&self, task: &str, within: Duration) {
        let at = Instant::now();
        let round = Some(Round { at, within });
        let mut known = self.known();
        if let Some(known) = known.get_mut(task) {
            known.round = round;
        } else {
            let failures = None;
            known.insert(task.to_owned(), Task { failures, round });
        }
    }

    /// Counts a restart and returns how long to wait before it.
    pub fn count(&self, task: &str) -> Duration {
        self.restarts_of(task).inc();
        let mut known = self.known();
        let last = Instant::now();
        let failures = &mut known.entry(task.to_owned()).or_default().failures;
        let entry = failures.get_or_insert(Failures { count: 0, last });
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
        self.restarts_of(task).get()
    }

    /// The tasks that failed in the last minutes, and those that do nothing; `None` when
    /// all are healthy.
    pub fn warning(&self) -> Option<String> {
        let mut found = Vec::new();
        for (name, task) in &*self.known() {
            let silence = task.round.and_then(Round::silence);
            let label = OfTask { task: name.clone() };
            let late = self.late.get_or_create_owned(&label);
            late.set(i64::from(silence.is_some()));
            if let Some(silence) = silence {
                let seconds = silence.as_secs();
                found.push(format!("{name} has finished nothing for {seconds} s"));
            }
            let recent = |failures: &&Failures| failures.last.elapsed() <= HEALTHY_AFTER;
            if let Some(Failures { count, .. }) = task.failures.as_ref().filter(recent) {
                found.push(format!("{name} was restarted {count} times"));
            }
        }
        (!found.is_empty()).then(|| found.join(", "))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restarts_of(&self, task: &str) -> Counter {
        let task = task.to_owned();
        self.restarts.get_or_create_owned(&OfTask { task })
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
        // After a panic the task is not polled again, so no code sees its broken state.
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
        let tasks = Tasks::default();
        assert_eq!(tasks.warning(), None);
        let starts = Cell::new(0);
        let waited = Cell::new(Duration::ZERO);
        let running = tasks.keep_running(
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
        assert_eq!((starts.get(), tasks.of("fragile")), (3, 2));
        assert_eq!(waited.get(), 3 * FIRST_WAIT);
        let warning = tasks.warning();
        assert_eq!(warning.as_deref(), Some("fragile was restarted 2 times"));
    }

    #[test]
    fn task_without_a_round_in_time_is_named_until_its_next_round() {
        let tasks = Tasks::default();
        tasks.round("janitor", Duration::from_mins(5));
        assert_eq!(tasks.warning(), None);
        tasks.round("janitor", Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        let warning = tasks.warning();
        let named = Some("janitor has finished nothing for 0 s");
        assert_eq!(warning.as_deref(), named);
        tasks.round("janitor", Duration::from_mins(5));
        assert_eq!(tasks.warning(), None);
    }
}
