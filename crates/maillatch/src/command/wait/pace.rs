//! How soon to repeat a request. A server may answer a wait early, because it stops
//! or has nothing to wait for; the pause keeps the client from asking in a busy loop.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);
/// An answer that took this long needs no further pause.
const SLOW_ANSWER: Duration = Duration::from_secs(1);

/// The pause before the next call; it doubles up to the longest one.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Duration,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// Starts again with the shortest pause.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }

    /// Pauses, at most until the given time.
    pub(crate) async fn pause(&mut self, until: Instant) {
        sleep_until(until.min(Instant::now() + self.next)).await;
        self.next = (self.next * 2).min(LONGEST);
    }

    /// Pauses if a wait that began at `began` was answered early and without a change.
    pub(crate) async fn after(&mut self, began: Instant, until: Instant) {
        if began.elapsed() >= SLOW_ANSWER {
            self.reset();
        } else {
            self.pause(until).await;
        }
    }
}
