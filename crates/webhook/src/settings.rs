//! The webhook's budgets.

use std::time::Duration;

use ipnet::IpNet;

const MIB: usize = 1024 * 1024;

/// The largest configurable body limit.
const MOST_BODY: usize = 50 * MIB;

/// The largest configurable memory budget for bodies.
const MOST_IN_FLIGHT: usize = 4096 * MIB;

/// The webhook's budgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The longest accepted body, in bytes.
    pub body_limit: usize,
    /// How long a client may take to send a body.
    pub body_timeout: Duration,
    /// How many bytes of bodies may be in memory at once; beyond that posts get 503.
    /// It also bounds the queue of posts that wait for a commit.
    pub in_flight_bytes: usize,
    /// How long a post waits for its commit before the answer is 503.
    pub commit_timeout: Duration,
    /// How many commits run at once. With two, one commits while the other batch
    /// gathers; more only make the batches smaller.
    pub committers: usize,
    /// The most deliveries in one commit.
    pub batch: usize,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: 10 * MIB,
            body_timeout: Duration::from_secs(10),
            in_flight_bytes: 64 * MIB,
            commit_timeout: Duration::from_millis(2500),
            committers: 2,
            batch: 64,
            trusted_proxies: Vec::new(),
        }
    }
}

/// A setting is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// `body_limit`.
    #[error("`body_limit` is 1 to 52428800 bytes")]
    BodyLimit,
    /// `body_timeout`.
    #[error("`body_timeout` is more than 0 and at most 60 seconds")]
    BodyTimeout,
    /// `in_flight_bytes`.
    #[error("`in_flight_bytes` is at least `body_limit` and at most 4 GiB")]
    InFlight,
    /// `commit_timeout`.
    #[error("`commit_timeout` is more than 0 and at most 60 seconds")]
    CommitTimeout,
    /// `committers`.
    #[error("`committers` is 1 to 16")]
    Committers,
    /// `commit_batch`.
    #[error("`commit_batch` is 1 to 1024")]
    Batch,
}

impl Settings {
    /// The same settings, if each is within its bounds.
    pub fn checked(self) -> Result<Self, SettingsError> {
        const MINUTE: Duration = Duration::from_mins(1);
        let bounds = [
            (
                (1..=MOST_BODY).contains(&self.body_limit),
                SettingsError::BodyLimit,
            ),
            (
                is_wait(self.body_timeout, MINUTE),
                SettingsError::BodyTimeout,
            ),
            (
                (self.body_limit..=MOST_IN_FLIGHT).contains(&self.in_flight_bytes),
                SettingsError::InFlight,
            ),
            (
                is_wait(self.commit_timeout, MINUTE),
                SettingsError::CommitTimeout,
            ),
            (
                (1..=16).contains(&self.committers),
                SettingsError::Committers,
            ),
            ((1..=1024).contains(&self.batch), SettingsError::Batch),
        ];
        match bounds.into_iter().find(|(is_within, _)| !is_within) {
            Some((_, error)) => Err(error),
            None => Ok(self),
        }
    }
}

fn is_wait(span: Duration, most: Duration) -> bool {
    !span.is_zero() && span <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_settings_are_valid() {
        assert_eq!(Settings::default().checked(), Ok(Settings::default()));
    }

    #[test]
    fn settings_out_of_bounds_are_refused() {
        let refusal = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.checked().unwrap_err()
        };
        assert_eq!(refusal(|s| s.body_limit = 0), SettingsError::BodyLimit);
        assert_eq!(
            refusal(|s| s.body_limit = 50 * MIB + 1),
            SettingsError::BodyLimit
        );
        assert_eq!(
            refusal(|s| s.body_timeout = Duration::ZERO),
            SettingsError::BodyTimeout
        );
        assert_eq!(
            refusal(|s| s.in_flight_bytes = 1024),
            SettingsError::InFlight
        );
        let long = refusal(|s| s.commit_timeout = Duration::from_secs(61));
        assert_eq!(long, SettingsError::CommitTimeout);
        assert_eq!(refusal(|s| s.committers = 0), SettingsError::Committers);
        assert_eq!(refusal(|s| s.batch = 1025), SettingsError::Batch);
    }
}
