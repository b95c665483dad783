//! The webhook's budgets.

use std::time::Duration;

use serde::Deserialize;

const MIB: usize = 1024 * 1024;

/// No body is ever accepted above this, whatever is configured.
const MOST_BODY: usize = 50 * MIB;

/// The webhook's budgets, checked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Settings {
    /// The longest body, in bytes.
    pub body_limit: usize,
    /// How long a sender may take to send a body.
    pub body_timeout: Duration,
    /// How many bytes of bodies may be in memory at once; with more the answer
    /// is 503. It also bounds the queue before the database.
    pub in_flight_bytes: usize,
    /// How long a post waits for its commit before the answer is 503.
    pub commit_timeout: Duration,
    /// How many commits run at once. Two keep one database core busy while the
    /// other batch gathers; more only make the batches smaller.
    pub committers: usize,
    /// The most deliveries in one commit.
    pub batch: usize,
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
        }
    }
}

/// A budget is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The longest body.
    #[error("`body_limit` is 1 to 52428800 bytes")]
    BodyLimit,
    /// The read's time.
    #[error("`body_timeout` is more than 0 and at most 60 seconds")]
    BodyTimeout,
    /// The memory.
    #[error("`in_flight_bytes` is at least `body_limit` and at most 4 GiB")]
    InFlight,
    /// The commit's time.
    #[error("`commit_timeout` is more than 0 and at most 60 seconds")]
    CommitTimeout,
    /// The committers.
    #[error("`committers` is 1 to 16")]
    Committers,
    /// The batch.
    #[error("`batch` is 1 to 1024")]
    Batch,
}

/// The budgets as the configuration writes them: times in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    body_limit: Option<usize>,
    body_timeout: Option<f64>,
    in_flight_bytes: Option<usize>,
    commit_timeout: Option<f64>,
    committers: Option<usize>,
    batch: Option<usize>,
}

impl TryFrom<Written> for Settings {
    type Error = SettingsError;

    fn try_from(written: Written) -> Result<Self, SettingsError> {
        let own = Self::default();
        let body_limit = written.body_limit.unwrap_or(own.body_limit);
        let in_flight_bytes = written
            .in_flight_bytes
            .unwrap_or(own.in_flight_bytes.max(2 * body_limit.min(MOST_BODY)));
        Ok(Self {
            body_limit: within(body_limit, 1, MOST_BODY).ok_or(SettingsError::BodyLimit)?,
            body_timeout: seconds(written.body_timeout, own.body_timeout)
                .ok_or(SettingsError::BodyTimeout)?,
            in_flight_bytes: within(in_flight_bytes, body_limit, 4096 * MIB)
                .ok_or(SettingsError::InFlight)?,
            commit_timeout: seconds(written.commit_timeout, own.commit_timeout)
                .ok_or(SettingsError::CommitTimeout)?,
            committers: within(written.committers.unwrap_or(own.committers), 1, 16)
                .ok_or(SettingsError::Committers)?,
            batch: within(written.batch.unwrap_or(own.batch), 1, 1024)
                .ok_or(SettingsError::Batch)?,
        })
    }
}

fn within(value: usize, least: usize, most: usize) -> Option<usize> {
    (least..=most).contains(&value).then_some(value)
}

fn seconds(written: Option<f64>, own: Duration) -> Option<Duration> {
    let Some(seconds) = written else {
        return Some(own);
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|span| !span.is_zero() && *span <= Duration::from_mins(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn nothing_written_is_the_default() {
        assert_eq!(read("{}").expect("read"), Settings::default());
    }

    #[test]
    fn times_are_seconds_and_may_have_a_fraction() {
        let settings = read(r#"{"commit_timeout":0.5,"body_timeout":20}"#).expect("read");
        assert_eq!(settings.commit_timeout, Duration::from_millis(500));
        assert_eq!(settings.body_timeout, Duration::from_secs(20));
    }

    #[test]
    fn a_budget_out_of_bounds_is_refused() {
        for bad in [
            r#"{"body_limit":0}"#,
            r#"{"body_limit":52428801}"#,
            r#"{"body_timeout":0}"#,
            r#"{"body_timeout":-1}"#,
            r#"{"commit_timeout":61}"#,
            r#"{"in_flight_bytes":1024}"#,
            r#"{"committers":0}"#,
            r#"{"batch":1025}"#,
            r#"{"body_limits":1}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(r#"{"body_limit":52428800}"#).is_ok());
    }
}
