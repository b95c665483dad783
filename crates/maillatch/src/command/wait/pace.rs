//! How soon to ask again. A server that answers a wait early, because it is ending
//! or because it has nothing to wait for, is not asked a thousand times a second.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);
/// Who waits as long as this between two answers asks rarely enough.
const PATIENT: Duration = Duration::from_secs(1);

/// The pause before the next call, doubled each time up to the most.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Duration,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// How long the next pause is.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// Begins again with the shortest.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }

    /// Rests, at most until then.
    pub(crate) async fn rest(&mut self, until: Instant) {
        sleep_until(until.min(Instant::now() + self.next)).await;
        self.next = (self.next * 2).min(LONGEST);
    }

    /// Rests if the answer to a wait that began then says nothing new and came early.
    pub(crate) async fn after(&mut self, began: Instant, until: Instant) {
        if began.elapsed() >= PATIENT {
            self.reset();
        } else {
            self.rest(until).await;
        }
    }
}
