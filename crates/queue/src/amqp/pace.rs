//! How long to wait before trying again: for ever, but never long.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);

/// No wait is longer than this, so a broker that is back is found within it.
pub(super) const CEILING: Duration = Duration::from_secs(5);

/// Of how many failures in a row one is worth a line in the log; at the ceiling
/// that is a line a minute.
const SAID_ONCE_IN: u32 = 12;

/// Waits that double from 0.2 to 5 seconds, half of each drawn by chance so
/// that many processes do not come back as one.
#[derive(Debug, Default)]
pub(super) struct Pace {
    failures: u32,
}

impl Pace {
    /// Counts a failure and tells how long to wait after it.
    pub(super) fn wait(&mut self) -> Duration {
        let full = FIRST
            .saturating_mul(2_u32.saturating_pow(self.failures))
            .min(CEILING);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(0.5 + 0.5 * rand::random::<f64>())
    }

    /// Whether the failure that is about to be counted should be logged aloud.
    pub(super) fn is_worth_saying(&self) -> bool {
        self.failures.is_multiple_of(SAID_ONCE_IN)
    }

    /// Starts over after `lived` of success, unless that was too short to be one.
    pub(super) fn lived(&mut self, lived: Duration) {
        if lived >= CEILING {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_ceiling_and_never_end() {
        let mut pace = Pace::default();
        let waits: Vec<Duration> = (0..1_000).map(|_| pace.wait()).collect();
        assert!(waits.iter().all(|wait| *wait <= CEILING));
        assert!(waits[0] >= FIRST / 2 && waits[0] <= FIRST);
        assert!(waits[5..].iter().all(|wait| *wait >= CEILING / 2));
    }

    #[test]
    fn only_a_success_that_lasted_starts_over() {
        let mut pace = Pace::default();
        for _ in 0..10 {
            pace.wait();
        }
        pace.lived(Duration::from_millis(100));
        assert!(pace.wait() > FIRST);
        pace.lived(CEILING);
        assert!(pace.wait() <= FIRST);
    }

    #[test]
    fn a_long_outage_is_said_now_and_then() {
        let mut pace = Pace::default();
        let mut said = 0;
        for _ in 0..120 {
            said += u32::from(pace.is_worth_saying());
            pace.wait();
        }
        assert_eq!(said, 10);
    }
}
