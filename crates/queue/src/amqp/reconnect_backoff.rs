//! How long to wait before the next try to connect. It retries without end.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);

/// The longest wait, so a broker that is available again is found within it.
pub(super) const CEILING: Duration = Duration::from_secs(5);

/// One failure in this many is logged as a warning; at the ceiling that is about one
/// line a minute.
const LOGGED_ONCE_IN: u32 = 12;

/// Waits that double from 0.2 to 5 seconds. Half of each wait is random, so that many
/// processes do not reconnect at the same time.
#[derive(Debug, Default)]
pub(super) struct ReconnectBackoff {
    failures: u32,
}

impl ReconnectBackoff {
    /// Counts a failure and returns how long to wait after it.
    pub(super) fn next_wait(&mut self) -> Duration {
        let full = FIRST
            .saturating_mul(2_u32.saturating_pow(self.failures))
            .min(CEILING);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(0.5 + 0.5 * rand::random::<f64>())
    }

    /// Whether the failure that is counted next should be logged as a warning.
    pub(super) fn should_warn(&self) -> bool {
        self.failures.is_multiple_of(LOGGED_ONCE_IN)
    }

    /// Resets the waits after a connection that lasted, and not after a short one.
    pub(super) fn connection_lasted(&mut self, lifetime: Duration) {
        if lifetime >= CEILING {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_ceiling() {
        let mut backoff = ReconnectBackoff::default();
        let waits: Vec<Duration> = (0..1_000).map(|_| backoff.next_wait()).collect();
        assert!(waits.iter().all(|wait| *wait <= CEILING));
        assert!(waits[0] >= FIRST / 2 && waits[0] <= FIRST);
        assert!(waits[5..].iter().all(|wait| *wait >= CEILING / 2));
    }

    #[test]
    fn only_a_lasting_success_resets_the_backoff() {
        let mut backoff = ReconnectBackoff::default();
        for _ in 0..10 {
            backoff.next_wait();
        }
        backoff.connection_lasted(Duration::from_millis(100));
        assert!(backoff.next_wait() > FIRST);
        backoff.connection_lasted(CEILING);
        assert!(backoff.next_wait() <= FIRST);
    }

    #[test]
    fn long_outage_logs_one_failure_in_twelve() {
        let mut backoff = ReconnectBackoff::default();
        let mut warnings = 0;
        for _ in 0..120 {
            warnings += u32::from(backoff.should_warn());
            backoff.next_wait();
        }
        assert_eq!(warnings, 10);
    }
}
