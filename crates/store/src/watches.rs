//! The watches of this process: who waits for a change of which inbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{InboxId, InboxWatch};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// When a notification may have been lost, every watch looks again within this time,
/// each at a random moment: ten thousand that look at once would overload a database
/// that has just come back.
pub(crate) const RECHECK_SPREAD: Duration = Duration::from_millis(300);

/// The open watches of a process, by inbox. Signals are counted, so that a watcher
/// that was not waiting at that moment still finds them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watches {
    by_inbox: Arc<Mutex<HashMap<String, watch::Sender<Signals>>>>,
}

/// How often the watchers of an inbox were signalled.
#[derive(Debug, Clone, Copy, Default)]
struct Signals {
    /// The inbox has changed.
    changed: u64,
    /// It may have changed without a notification.
    recheck: u64,
}

impl Watches {
    /// Begins to watch an inbox.
    pub(crate) fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        self.watch_name(inbox.as_str())
    }

    /// Begins to watch an inbox or a send, by the name that its notifications carry. No
    /// address is the id of a send.
    pub(crate) fn watch_name(&self, inbox: &str) -> Box<dyn InboxWatch> {
        let signals = self.lock().entry(inbox.to_owned()).or_default().subscribe();
        let changed = signals.borrow().changed;
        Box::new(Watch {
            watches: self.clone(),
            inbox: inbox.to_owned(),
            signals: Some(signals),
            changed,
            recheck_at: None,
        })
    }

    /// Wakes the watches of one inbox.
    pub(crate) fn wake(&self, inbox: &str) {
        if let Some(signals) = self.lock().get(inbox) {
            signals.send_modify(|signals| signals.changed += 1);
        }
    }

    /// Wakes every watch within [`RECHECK_SPREAD`]: a notification may have been lost.
    pub(crate) fn recheck_all(&self) {
        for signals in self.lock().values() {
            signals.send_modify(|signals| signals.recheck += 1);
        }
    }

    // Nothing panics while it holds the lock, and the map is whole between any
    // two statements, so a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Signals>>> {
        self.by_inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch {
    watches: Watches,
    inbox: String,
    /// `None` only while this watch is dropped.
    signals: Option<watch::Receiver<Signals>>,
    /// How many changes were reported.
    changed: u64,
    /// When to look again. It is kept here and not in the wait, which may be dropped
    /// and begun again.
    recheck_at: Option<Instant>,
}

impl Watch {
    /// Waits for a signal; returns whether it was a change.
    async fn signalled(&mut self) -> bool {
        let Some(signals) = &mut self.signals else {
            return true;
        };
        // The sender lives in the map as long as this watch does, so this does
        // not fail.
        drop(signals.changed().await);
        let changed = signals.borrow_and_update().changed;
        std::mem::replace(&mut self.changed, changed) != changed
    }
}

#[async_trait]
impl InboxWatch for Watch {
    async fn changed(&mut self) {
        loop {
            let is_change = match self.recheck_at {
                None => self.signalled().await,
                Some(at) => tokio::select! {
                    is_change = self.signalled() => is_change,
                    () = sleep_until(at) => true,
                },
            };
            if is_change {
                self.recheck_at = None;
                return;
            }
            let moment = || Instant::now() + rand::random_range(Duration::ZERO..RECHECK_SPREAD);
            self.recheck_at.get_or_insert_with(moment);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut by_inbox = self.watches.lock();
        // The receiver is dropped under the lock. Otherwise the last two watches of an
        // inbox could each see the other one, and neither would remove the entry.
        self.signals = None;
        let is_last = by_inbox
            .get(&self.inbox)
            .is_some_and(|signals| signals.receiver_count() == 0);
        if is_last {
            by_inbox.remove(&self.inbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use tokio::time::timeout;

    use super::*;

    fn inbox(address: &str) -> InboxId {
        address.parse().unwrap()
    }

    #[tokio::test]
    async fn a_change_between_the_watch_and_the_wait_is_reported() {
        let watches = Watches::default();
        let mut watch = watches.watch(&inbox("a@inbox.test"));
        watches.wake("a@inbox.test");
        watch.changed().await;
    }

    #[tokio::test]
    async fn a_change_of_another_inbox_wakes_no_watch() {
        let watches = Watches::default();
        let mut watch = watches.watch(&inbox("a@inbox.test"));
        watches.wake("b@inbox.test");
        let waited = timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(waited.is_err());
    }

    #[tokio::test]
    async fn the_last_watch_of_an_inbox_removes_its_entry() {
        let watches = Watches::default();
        let first = watches.watch(&inbox("a@inbox.test"));
        let mut second = watches.watch(&inbox("a@inbox.test"));
        drop(first);
        watches.recheck_all();
        second.changed().await;
        drop(second);
        assert!(watches.lock().is_empty());
    }

    #[test]
    fn two_last_watches_dropped_at_once_remove_their_entry() {
        let watches = Watches::default();
        let barrier = Arc::new(Barrier::new(2));
        let ends = [0, 1].map(|_| {
            let (watches, barrier) = (watches.clone(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                for number in 0..2000 {
                    let watch = watches.watch(&inbox(&format!("a{number}@inbox.test")));
                    barrier.wait();
                    drop(watch);
                }
            })
        });
        for end in ends {
            end.join().unwrap();
        }
        assert_eq!(watches.lock().len(), 0);
    }

    #[tokio::test]
    async fn a_recheck_wakes_every_watch_at_a_random_moment() {
        let watches = Watches::default();
        let begun = Instant::now();
        let woken = (0..100).map(|number| {
            let mut watch = watches.watch(&inbox(&format!("a{number}@inbox.test")));
            tokio::spawn(async move {
                watch.changed().await;
                begun.elapsed()
            })
        });
        let woken: Vec<_> = woken.collect();
        watches.recheck_all();
        let mut moments = Vec::new();
        for task in woken {
            moments.push(task.await.unwrap());
        }
        let (first, last) = (moments.iter().min(), moments.iter().max());
        let between = last.unwrap().saturating_sub(*first.unwrap());
        assert!(between > RECHECK_SPREAD / 2, "{moments:?}");
    }

    #[tokio::test]
    async fn a_change_during_a_recheck_is_reported_once() {
        let watches = Watches::default();
        let mut watch = watches.watch(&inbox("a@inbox.test"));
        watches.recheck_all();
        let dropped = timeout(Duration::from_millis(1), watch.changed()).await;
        watches.wake("a@inbox.test");
        watch.changed().await;
        let again = timeout(2 * RECHECK_SPREAD, watch.changed()).await;
        assert!(
            again.is_err(),
            "reported again; first wait dropped: {}",
            dropped.is_err()
        );
    }

    #[tokio::test]
    async fn a_recheck_survives_a_wait_that_was_dropped() {
        let watches = Watches::default();
        let mut watch = watches.watch(&inbox("a@inbox.test"));
        for _ in 0..20 {
            watches.recheck_all();
            let dropped = timeout(Duration::from_millis(1), watch.changed()).await;
            if dropped.is_err() {
                testkit::wait::soon("the recheck wakes", watch.changed()).await;
                return;
            }
        }
        panic!("every recheck was reported within a millisecond");
    }
}
