//! How many claimed deliveries are being read, and when that is a backlog.
//!
//! While many mails wait for the parser, none of them gets its result sooner by a
//! transaction of its own. So calls of the worker wait a few milliseconds for others that
//! share theirs. A mail that is read alone, or with a few others, waits for none.
//!
//! A mail that is being fetched or whose sender is being checked counts, too. If many are,
//! the others may wait these few milliseconds for nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

/// So many deliveries that are read at once are a backlog. The parser has fewer threads.
const BACKLOG: usize = 16;

/// Counts the deliveries that are being read: each has a reference.
#[derive(Default)]
pub(crate) struct Backlog {
    being_read: Arc<()>,
}

/// A delivery that is being read, until this is dropped.
pub(crate) struct BeingRead {
    _reference: Arc<()>,
}

impl Backlog {
    /// Counts one more delivery.
    pub(crate) fn begin(&self) -> BeingRead {
        BeingRead {
            _reference: Arc::clone(&self.being_read),
        }
    }

    /// How long calls wait for others while there is a backlog.
    pub(crate) fn wait(&self, time: Duration) -> BacklogWait {
        BacklogWait {
            being_read: Arc::downgrade(&self.being_read),
            time,
        }
    }
}

/// How long calls wait for others while there is a backlog.
pub(crate) struct BacklogWait {
    being_read: Weak<()>,
    time: Duration,
}

impl BacklogWait {
    /// How long to wait now. `None` if there is no backlog.
    pub(crate) fn now(&self) -> Option<Duration> {
        // One reference is that of the counter itself.
        (self.being_read.strong_count() > BACKLOG).then_some(self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_while_sixteen_deliveries_are_read() {
        let backlog = Backlog::default();
        let wait = backlog.wait(Duration::from_millis(5));
        let mut read: Vec<BeingRead> = (0..15).map(|_| backlog.begin()).collect();
        assert_eq!(wait.now(), None);
        read.push(backlog.begin());
        assert_eq!(wait.now(), Some(Duration::from_millis(5)));
        read.pop();
        assert_eq!(wait.now(), None);
    }
}
