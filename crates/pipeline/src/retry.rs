//! When to retry, and when to give up.

use std::time::Duration;

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A retry may succeed: something of ours was unavailable.
    Transient,
    /// A retry may succeed: somebody else's server was unavailable. That may last for
    /// hours. The delivery itself was not processed yet, so no attempt is counted.
    Upstream,
    /// The same bytes will always fail.
    Permanent,
}

/// The retry schedule: limited by count and by time, whichever ends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure; each later one is `factor` times longer.
    pub first: Duration,
    /// The factor between two waits.
    pub factor: u32,
    /// No wait is longer than this.
    pub ceiling: Duration,
    /// The maximum number of attempts.
    pub attempts: u32,
    /// No retries when the delivery was first claimed longer ago than this.
    pub wall_clock: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            factor: 5,
            ceiling: Duration::from_mins(10),
            attempts: 5,
            wall_clock: Duration::from_mins(30),
        }
    }
}

impl Backoff {
    /// How long to wait after the failed attempt number `attempt` (from 1) of a
    /// delivery that was first claimed `age` ago; `None` to give up.
    ///
    /// `jitter` is a random number from 0 to 1. Half of the wait is fixed and half is
    /// random, so that many failures at once are not all retried at once.
    pub fn wait(&self, attempt: u32, age: Duration, jitter: f64) -> Option<Duration> {
        if attempt >= self.attempts || age >= self.wall_clock {
            return None;
        }
        let growth = self.factor.saturating_pow(attempt.saturating_sub(1));
        let full = self.first.saturating_mul(growth).min(self.ceiling);
        Some(full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0)))
    }

    /// Whether the attempts are used up. The attempt of a mail that may have crashed its
    /// worker is counted before it is parsed, so a mail that does crash it ends here.
    pub fn is_exhausted(&self, attempt: u32) -> bool {
        attempt > self.attempts
    }
}

/// The retry schedule while somebody else's server is unavailable: limited by time alone.
/// Each wait is as long as the time since the first claim, so the waits double without
/// counting attempts. The attempts stay available for processing the mail once it is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamBackoff {
    /// The shortest wait.
    pub first: Duration,
    /// No wait is longer than this.
    pub ceiling: Duration,
    /// No retries when the delivery was first claimed longer ago than this.
    pub wall_clock: Duration,
}

impl Default for UpstreamBackoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            ceiling: Duration::from_mins(10),
            wall_clock: Duration::from_hours(12),
        }
    }
}

impl UpstreamBackoff {
    /// How long to wait with a delivery that was first claimed `age` ago; `None` to give up.
    /// `jitter` as in [`Backoff::wait`].
    pub fn wait(&self, age: Duration, jitter: f64) -> Option<Duration> {
        let full = age.max(self.first).min(self.ceiling);
        let wait = full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        (age < self.wall_clock).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: Duration = Duration::from_secs(1);

    #[test]
    fn waits_grow_up_to_the_ceiling() {
        let backoff = Backoff {
            attempts: 10,
            ..Backoff::default()
        };
        let waits: Vec<u64> = (1..=6)
            .filter_map(|attempt| backoff.wait(attempt, YOUNG, 1.0))
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [1, 5, 25, 125, 600, 600]);
    }

    #[test]
    fn jitter_shortens_a_wait_by_at_most_half() {
        let backoff = Backoff::default();
        assert_eq!(
            backoff.wait(2, YOUNG, 0.0),
            Some(Duration::from_millis(2500))
        );
        assert_eq!(backoff.wait(2, YOUNG, 1.0), Some(Duration::from_secs(5)));
    }

    #[test]
    fn backoff_gives_up_by_count_and_by_age() {
        let backoff = Backoff::default();
        assert!(backoff.wait(4, YOUNG, 0.5).is_some());
        assert_eq!(backoff.wait(5, YOUNG, 0.5), None);
        assert_eq!(backoff.wait(1, Duration::from_mins(30), 0.5), None);
        assert!(!backoff.is_exhausted(5));
        assert!(backoff.is_exhausted(6));
    }

    #[test]
    fn upstream_backoff_doubles_with_age_and_gives_up_by_age() {
        let backoff = UpstreamBackoff::default();
        let mut age = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = backoff.wait(age, 1.0) {
            waits.push(wait.as_secs());
            age += wait;
        }
        assert!(waits.starts_with(&[1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]));
        assert!(age >= backoff.wall_clock && waits.len() > 70, "{waits:?}");
        assert_eq!(
            backoff.wait(Duration::from_mins(1), 0.0),
            Some(Duration::from_secs(30))
        );
    }
}
