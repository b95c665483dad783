//! When to try again, and when to give up.

use std::time::Duration;

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The same bytes may succeed later: something around us was away.
    Transient,
    /// The same: somebody else's server was away. That may last for hours and says
    /// nothing about the bytes, which were not touched yet.
    Upstream,
    /// The same bytes fail for ever.
    Permanent,
}

/// Bounds on retries: by count and by wall clock, whichever ends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure; each later one is `factor` times longer.
    pub first: Duration,
    /// How much longer each wait is.
    pub factor: u32,
    /// No wait is longer than this.
    pub ceiling: Duration,
    /// After this many attempts it is over.
    pub attempts: u32,
    /// After this long since the delivery was recorded it is over.
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
    /// delivery that is `age` old; `None` when it is to be given up.
    ///
    /// `chance` is drawn evenly from 0 to 1. Half of the wait is fixed and half
    /// is drawn, so that a crowd of failures does not come back as a crowd and
    /// none comes back at once.
    pub fn wait(&self, attempt: u32, age: Duration, chance: f64) -> Option<Duration> {
        if attempt >= self.attempts || age >= self.wall_clock {
            return None;
        }
        let growth = self.factor.saturating_pow(attempt.saturating_sub(1));
        let full = self.first.saturating_mul(growth).min(self.ceiling);
        Some(full.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0)))
    }

    /// Whether a delivery may be worked on at all. A claim counts its attempt
    /// before the dangerous work begins, so a delivery that kills its worker
    /// runs out of attempts here.
    pub fn is_exhausted(&self, attempt: u32) -> bool {
        attempt > self.attempts
    }
}

/// Bounds on waiting for somebody else's server: by wall clock alone. Each wait is
/// as long as the delivery has waited already, so the waits double without being
/// counted, and a worker that is killed by the mail once it is there still runs
/// out of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamBackoff {
    /// The shortest wait.
    pub first: Duration,
    /// No wait is longer than this.
    pub ceiling: Duration,
    /// After this long since the delivery was recorded it is over.
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
    /// How long to wait with a delivery that is `age` old; `None` when it is to be
    /// given up. `chance` as in [`Backoff::wait`].
    pub fn wait(&self, age: Duration, chance: f64) -> Option<Duration> {
        let full = age.max(self.first).min(self.ceiling);
        let wait = full.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0));
        (age < self.wall_clock).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUNG: Duration = Duration::from_secs(1);

    #[test]
    fn waits_grow_and_are_capped() {
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
    fn jitter_takes_at_most_half() {
        let backoff = Backoff::default();
        assert_eq!(
            backoff.wait(2, YOUNG, 0.0),
            Some(Duration::from_millis(2500))
        );
        assert_eq!(backoff.wait(2, YOUNG, 1.0), Some(Duration::from_secs(5)));
    }

    #[test]
    fn it_ends_by_count_and_by_wall_clock() {
        let backoff = Backoff::default();
        assert!(backoff.wait(4, YOUNG, 0.5).is_some());
        assert_eq!(backoff.wait(5, YOUNG, 0.5), None);
        assert_eq!(backoff.wait(1, Duration::from_mins(30), 0.5), None);
        assert!(!backoff.is_exhausted(5));
        assert!(backoff.is_exhausted(6));
    }

    #[test]
    fn patience_doubles_with_age_and_ends_by_wall_clock_alone() {
        let patience = UpstreamBackoff::default();
        let mut age = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = patience.wait(age, 1.0) {
            waits.push(wait.as_secs());
            age += wait;
        }
        assert!(waits.starts_with(&[1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]));
        assert!(age >= patience.wall_clock && waits.len() > 70, "{waits:?}");
        assert_eq!(
            patience.wait(Duration::from_mins(1), 0.0),
            Some(Duration::from_secs(30))
        );
    }
}
