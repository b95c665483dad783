//! Who waits for news of which inbox, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pipeline::{Arrival, InboxId};
use tokio::sync::watch;

/// The open watches of a process, by inbox. What is counted is news, so that a
/// watcher that was not listening at that moment still finds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals {
    watched: Arc<Mutex<HashMap<String, watch::Sender<u64>>>>,
}

impl Arrivals {
    /// Begins to watch an inbox.
    pub(crate) fn watch(&self, inbox: &InboxId) -> Box<dyn Arrival> {
        let news = self
            .lock()
            .entry(inbox.as_str().to_owned())
            .or_insert_with(|| watch::Sender::new(0))
            .subscribe();
        Box::new(Watch {
            arrivals: self.clone(),
            inbox: inbox.as_str().to_owned(),
            news,
        })
    }

    /// Wakes the watches of one inbox.
    pub(crate) fn announce(&self, inbox: &str) {
        if let Some(news) = self.lock().get(inbox) {
            news.send_modify(|count| *count += 1);
        }
    }

    /// Wakes every watch: something may have been missed.
    pub(crate) fn announce_all(&self) {
        for news in self.lock().values() {
            news.send_modify(|count| *count += 1);
        }
    }

    // Nothing panics while it holds the lock, and the map is whole between any
    // two statements, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<u64>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch {
    arrivals: Arrivals,
    inbox: String,
    news: watch::Receiver<u64>,
}

#[async_trait]
impl Arrival for Watch {
    async fn news(&mut self) {
        // The sender lives in the map as long as this watch does, so this does
        // not fail.
        drop(self.news.changed().await);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.arrivals.lock();
        // This watch still counts as one.
        let is_last = watched
            .get(&self.inbox)
            .is_some_and(|news| news.receiver_count() <= 1);
        if is_last {
            watched.remove(&self.inbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn inbox(address: &str) -> InboxId {
        address.parse().unwrap()
    }

    #[tokio::test]
    async fn news_between_the_watch_and_the_wait_is_not_missed() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        arrivals.announce("a@inbox.test");
        watch.news().await;
    }

    #[tokio::test]
    async fn news_of_another_inbox_wakes_nobody() {
        let arrivals = Arrivals::default();
        let mut watch = arrivals.watch(&inbox("a@inbox.test"));
        arrivals.announce("b@inbox.test");
        let waited = tokio::time::timeout(Duration::from_millis(50), watch.news()).await;
        assert!(waited.is_err());
    }

    #[tokio::test]
    async fn a_watch_that_ended_leaves_nothing_behind() {
        let arrivals = Arrivals::default();
        let first = arrivals.watch(&inbox("a@inbox.test"));
        let mut second = arrivals.watch(&inbox("a@inbox.test"));
        drop(first);
        arrivals.announce_all();
        second.news().await;
        drop(second);
        assert!(arrivals.lock().is_empty());
    }
}
