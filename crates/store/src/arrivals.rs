//! Who waits for news of which inbox, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{InboxId, InboxWatch};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Watches that are woken because something may have been missed look within
/// this time, each at a moment of its own: ten thousand that look at once are a
/// storm, and it would come when the database has just come back.
pub(crate) const SPREAD: Duration = Duration::from_millis(300);

/// The open watches of a process, by inbox. What is counted is news, so that a
/// watcher that was not listening at that moment still finds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    watched: Arc<Mutex<HashMap<String, watch::Sender<News>>>>,
}

/// How often an inbox was spoken of.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// Something has arrived.
    heard: u64,
    /// Something may have arrived unheard.
    doubted: u64,
}

impl Arrivals {
    /// Begins to watch an inbox.
    pub(crate) fn watch(&self, inbox: &InboxId) -> Box<dyn InboxWatch> {
        let news = self
            .lock()
            .entry(inbox.as_str().to_owned())
            .or_default()
            .subscribe();
        let heard = news.borrow().heard;
        Box::new(Watch {
            arrivals: self.clone(),
            inbox: inbox.as_str().to_owned(),
            news: Some(news),
            heard,
            look_at: None,
        })
    }

    /// Wakes the watches of one inbox.
    pub(crate) fn announce(&self, inbox: &str) {
        if let Some(news) = self.lock().get(inbox) {
            news.send_modify(|news| news.heard += 1);
        }
    }

    /// Wakes every watch within [`SPREAD`]: something may have been missed.
    pub(crate) fn doubt_all(&self) {
        for news in self.lock().values() {
            news.send_modify(|news| news.doubted += 1);
        }
    }

    // Nothing panics while it holds the lock, and the map is whole between any
    // two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<News>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch {
    arrivals: Arrivals,
    inbox: String,
    /// There until this watch is dropped.
    news: Option<watch::Receiver<News>>,
    /// How much of what arrived was told.
    heard: u64,
    /// When to look because of a doubt; here and not in the wait, which may be
    /// given up and begun again.
    look_at: Option<Instant>,
}

impl Watch {
    /// Waits until the inbox is spoken of; tells whether something has arrived.
    async fn spoken_of(&mut self) -> bool {
        let Some(news) = &mut self.news else {
            return true;
        };
        // The sender lives in the map as long as this watch does, so this does
        // not fail.
        drop(news.changed().await);
        let heard = news.borrow_and_update().heard;
        std::mem::replace(&mut self.heard, heard) != heard
    }
}

#[async_trait]
impl InboxWatch for Watch {
    async fn changed(&mut self) {
        loop {
            let has_arrived = match self.look_at {
                None => self.spoken_of().await,
                Some(at) => tokio::select! {
                    has_arrived = self.spoken_of() => has_arrived,
                    () = sleep_until(at) => true,
                },
            };
            if has_arrived {
                self.look_at = None;
                return;
            }
            let moment = || Instant::now() + rand::random_range(Duration::ZERO..SPREAD);
            self.look_at.get_or_insert_with(moment);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.arrivals.lock();
        // Under the lock, or two last ones would each take the other for one
        // that stays, and leave the entry behind for good.
        self.news = None;
        let is_last = watched
            .get(&self.inbox)
            .is_some_and(|news| news.receiver_count() == 0);
        if is_last {
            watched.remove(&self.inbox);
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
    async fn news_between_the_watch_and_the_wait_is_not_missed() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        arrivals.announce("a@inbox.test");
        watch.changed().await;
    }

    #[tokio::test]
    async fn news_of_another_inbox_wakes_nobody() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        arrivals.announce("b@inbox.test");
        let waited = timeout(Duration::from_millis(50), watch.changed()).await;
        assert!(waited.is_err());
    }

    #[tokio::test]
    async fn a_watch_that_ended_leaves_nothing_behind() {
        let arrivals = Arrivals::default();
        let first = arrivals.watch(&inbox("a@inbox.test"));
        let mut second = arrivals.watch(&inbox("a@inbox.test"));
        drop(first);
        arrivals.doubt_all();
        second.changed().await;
        drop(second);
        assert!(arrivals.lock().is_empty());
    }

    #[test]
    fn two_last_watches_that_end_at_once_leave_nothing_behind() {
        let arrivals = Arrivals::default();
        let barrier = Arc::new(Barrier::new(2));
        let ends = [0, 1].map(|_| {
            let (arrivals, barrier) = (arrivals.clone(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                for number in 0..2000 {
                    let watch = arrivals.watch(&inbox(&format!("a{number}@inbox.test")));
                    barrier.wait();
                    drop(watch);
                }
            })
        });
        for end in ends {
            end.join().unwrap();
        }
        assert_eq!(arrivals.lock().len(), 0);
    }

    #[tokio::test]
    async fn a_doubt_wakes_every_watch_at_a_moment_of_its_own() {
        let arrivals = Arrivals::default();
        let begun = Instant::now();
        let woken = (0..100).map(|number| {
            let mut watch = arrivals.watch(&inbox(&format!("a{number}@inbox.test")));
            tokio::spawn(async move {
                watch.changed().await;
                begun.elapsed()
            })
        });
        let woken: Vec<_> = woken.collect();
        arrivals.doubt_all();
        let mut moments = Vec::new();
        for task in woken {
            moments.push(task.await.unwrap());
        }
        let (first, last) = (moments.iter().min(), moments.iter().max());
        let between = last.unwrap().saturating_sub(*first.unwrap());
        assert!(between > SPREAD / 2, "{moments:?}");
    }

    #[tokio::test]
    async fn what_arrives_in_doubt_is_told_once() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        arrivals.doubt_all();
        let given_up = timeout(Duration::from_millis(1), watch.changed()).await;
        arrivals.announce("a@inbox.test");
        watch.changed().await;
        let again = timeout(2 * SPREAD, watch.changed()).await;
        assert!(
            again.is_err(),
            "told again; given up: {}",
            given_up.is_err()
        );
    }

    #[tokio::test]
    async fn a_doubt_outlives_a_wait_that_was_given_up() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        for _ in 0..20 {
            arrivals.doubt_all();
            let given_up = timeout(Duration::from_millis(1), watch.changed()).await;
            if given_up.is_err() {
                testkit::patience::soon("the doubt wakes", watch.changed()).await;
                return;
            }
        }
        panic!("every doubt was told within a millisecond");
    }
}
