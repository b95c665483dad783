//! Counts of refused posts, for the operator: in the database, where `doctor` reads them,
//! and in the log. Nothing of a post is kept, and a flood of posts costs a few rows and
//! lines.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pipeline::{Reason, RefusalLog, Refusals, SourceName};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::reply::Problem;

/// How often counts are written to the database at most.
const WRITE_EVERY: Duration = Duration::from_secs(2);
/// How often one source and reason is logged at most.
const LOG_EVERY: Duration = Duration::from_mins(1);

/// What was refused: the source, if there is one, and the reason.
type Subject = (Option<SourceName>, &'static str);

/// Refused posts that are not written yet.
#[derive(Debug, Default)]
pub struct RefusedPosts {
    unwritten: Mutex<BTreeMap<Subject, Tally>>,
    arrived: Notify,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    posts: u64,
    seconds_old: Option<i64>,
}

impl Tally {
    fn add(&mut self, more: Self) {
        self.posts = self.posts.saturating_add(more.posts);
        self.seconds_old = more.seconds_old.or(self.seconds_old);
    }
}

/// The counts that were not logged yet, and when each subject was logged last.
#[derive(Default)]
struct LogBook(BTreeMap<Subject, (Tally, Option<Instant>)>);

impl RefusedPosts {
    /// Counts one post that was not recorded, if the operator or the sender must change
    /// something. Sources and reasons come from closed lists, so the counts take bounded
    /// memory.
    pub(crate) fn count(&self, source: Option<&SourceName>, problem: Problem) {
        let seconds_old = match problem {
            // The server is busy or its database is unavailable, and the sender retries.
            Problem::Overloaded | Problem::StorageFull | Problem::NotRecorded(_) => return,
            Problem::NotAuthentic(flaw) | Problem::RefusedUnread(flaw) => flaw.seconds_old(),
            _ => None,
        };
        let one = Tally {
            posts: 1,
            seconds_old,
        };
        let subject = (source.cloned(), problem.outcome());
        self.put(BTreeMap::from([(subject, one)]));
        self.arrived.notify_one();
    }

    /// Writes and logs the counts until `stop`, and then once more.
    pub async fn report(self: Arc<Self>, log: Arc<dyn RefusalLog>, stop: CancellationToken) {
        let mut book = LogBook::default();
        while !stop.is_cancelled() {
            tokio::select! {
                () = self.arrived.notified() => {}
                () = tokio::time::sleep(LOG_EVERY), if !book.0.is_empty() => {}
                () = stop.cancelled() => {}
            }
            book.warn(&self.write(&*log).await, Instant::now());
            tokio::select! {
                () = tokio::time::sleep(WRITE_EVERY) => {}
                () = stop.cancelled() => {}
            }
        }
        book.warn(&self.write(&*log).await, Instant::now());
    }

    /// Writes what is not written yet, and returns it. What could not be written is
    /// counted on.
    async fn write(&self, log: &dyn RefusalLog) -> BTreeMap<Subject, Tally> {
        let taken = std::mem::take(&mut *self.lock());
        if taken.is_empty() {
            return taken;
        }
        let refusals = taken.iter().map(|((source, reason), tally)| Refusals {
            source: source.clone(),
            reason: Reason::new(reason),
            posts: tally.posts,
            seconds_old: tally.seconds_old,
        });
        if log.add_refusals(refusals.collect()).await.is_err() {
            self.put(taken);
            self.arrived.notify_one();
            return BTreeMap::new();
        }
        taken
    }

    fn put(&self, counts: BTreeMap<Subject, Tally>) {
        let mut unwritten = self.lock();
        for (subject, tally) in counts {
            unwritten.entry(subject).or_default().add(tally);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Subject, Tally>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogBook {
    /// Logs each subject at once, and then at most once a minute with its count.
    fn warn(&mut self, written: &BTreeMap<Subject, Tally>, now: Instant) {
        for (subject, tally) in written {
            let (unlogged, _) = self.0.entry(subject.clone()).or_default();
            unlogged.add(*tally);
        }
        self.0.retain(|(source, reason), (unlogged, logged)| {
            let is_due = logged.is_none_or(|at| now - at >= LOG_EVERY);
            if !is_due {
                return true;
            }
            if unlogged.posts == 0 {
                return false;
            }
            let name = source.as_ref().map_or("(unknown)", SourceName::as_str);
            tracing::warn!(
                source = name,
                reason,
                posts = unlogged.posts,
                seconds_old = unlogged.seconds_old,
                "posts were refused; `maillatch doctor` says what to do"
            );
            (*unlogged, *logged) = (Tally::default(), Some(now));
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use pipeline::StoreError;
    use providers::VerifyError;

    use super::*;

    /// A log that fails the first time.
    #[derive(Default)]
    struct Flaky {
        calls: Mutex<Vec<Vec<Refusals>>>,
    }

    #[async_trait]
    impl RefusalLog for Flaky {
        async fn add_refusals(&self, refusals: Vec<Refusals>) -> Result<(), StoreError> {
            let mut calls = self.calls.lock().unwrap();
            calls.push(refusals);
            if calls.len() == 1 {
                return Err(StoreError::Unavailable("away".into()));
            }
            Ok(())
        }

        async fn recent_refusals(&self) -> Result<Vec<Refusals>, StoreError> {
            Ok(Vec::new())
        }
    }

    #[tokio::test]
    async fn counts_that_could_not_be_written_are_written_with_the_next_ones() {
        let (posts, log) = (RefusedPosts::default(), Flaky::default());
        let shop: SourceName = "shop".parse().unwrap();
        let stale = |age| Problem::NotAuthentic(VerifyError::Stale(age));
        posts.count(Some(&shop), stale(400));
        assert!(posts.write(&log).await.is_empty());
        posts.count(Some(&shop), stale(410));
        posts.count(Some(&shop), Problem::Overloaded);
        posts.count(None, Problem::UnknownSource);
        assert_eq!(posts.write(&log).await.len(), 2);
        assert!(posts.write(&log).await.is_empty());
        let calls = log.calls.lock().unwrap();
        let [_, written] = calls.as_slice() else {
            panic!("{calls:?}")
        };
        let unknown = (None, "unknown_source", 1, None);
        let stale = (Some(shop), "stale", 2, Some(410));
        let seen: Vec<_> = written
            .iter()
            .map(|one| {
                let reason = one.reason.as_str();
                (one.source.clone(), reason, one.posts, one.seconds_old)
            })
            .collect();
        assert_eq!(seen, [unknown, stale]);
    }

    #[test]
    fn a_flood_of_one_kind_is_one_line_a_minute() {
        let (mut book, now) = (LogBook::default(), Instant::now());
        let subject = (None, "unknown_source");
        let one = Tally {
            posts: 1,
            seconds_old: None,
        };
        let flood = BTreeMap::from([(subject.clone(), one)]);
        for _ in 0..100 {
            book.warn(&flood, now);
        }
        assert_eq!(book.0[&subject].0.posts, 99);
        book.warn(&flood, now + LOG_EVERY);
        assert_eq!(book.0[&subject].0.posts, 0);
        book.warn(&BTreeMap::new(), now + 2 * LOG_EVERY);
        assert!(book.0.is_empty());
    }
}
