//! How long a wait goes on while its server is unavailable.

use std::time::Duration;

use tokio::time::Instant;

use super::pace::Pace;
use client::CallError;

/// How often a call is repeated when there is no time left, or when no server has ever
/// been there.
const LAST_TRIES: u32 = 3;
/// More than the longest pause of a pace.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The patience of one wait.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    was_there: bool,
    last_tries: u32,
}

impl Patience {
    pub(crate) fn new(until: Instant) -> Self {
        Self {
            until,
            was_there: false,
            last_tries: 0,
        }
    }

    /// Records that the server has answered.
    pub(crate) fn answered(&mut self) {
        self.was_there = true;
    }

    /// Pauses before a failed call is repeated, or returns the error if it is final.
    ///
    /// A server that was there is waited for until the time is up. Then it is asked a few
    /// times more, because the answer that was lost may have been the value. A server that
    /// never was there has another URL, or does not run.
    pub(crate) async fn after(
        &mut self,
        error: CallError,
        pace: &mut Pace,
    ) -> Result<(), CallError> {
        if !error.is_transient() {
            return Err(error);
        }
        self.was_there = self.was_there || !error.is_refused_connection();
        if self.was_there && Instant::now() < self.until {
            pace.pause(self.until).await;
            return Ok(());
        }
        if self.last_tries == 0 {
            pace.reset();
        }
        self.last_tries += 1;
        if self.last_tries > LAST_TRIES {
            return Err(error);
        }
        pace.pause(Instant::now() + MAX_PAUSE).await;
        Ok(())
    }
}
