//! Time is a dependency: code that needs it takes a [`Clock`].

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, in milliseconds since the Unix epoch.
///
/// Leases, retries and expiries use the database's clock and not the machine's: the
/// clocks of two machines may differ, and there is only one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `millis` milliseconds after the Unix epoch.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This moment plus `span`; saturates at the largest value.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The last millisecond of the second, for times that come in whole seconds. Read
    /// as its first millisecond, such a time would make mail look older than an
    /// attempt that was opened earlier in the same second. Other times are unchanged.
    #[must_use]
    pub fn end_of_its_second(self) -> Self {
        if self.0 % 1000 == 0 {
            Self(self.0.saturating_add(999))
        } else {
            self
        }
    }

    /// The time since `earlier`; zero when `earlier` is later than this.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The text is not an RFC 3339 timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a timestamp such as 2026-01-01T00:00:00Z")]
pub struct TimestampError;

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).or(Err(TimestampError))?;
        let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
        i64::try_from(millis).map(Self).or(Err(TimestampError))
    }
}

/// RFC 3339 in UTC, the only format in which Maillatch prints a time. It always has three
/// digits after the second, so that the order of texts is the order of times.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0) * 1_000_000;
        let Ok(moment) = OffsetDateTime::from_unix_timestamp_nanos(nanos) else {
            return write!(f, "{}ms", self.0);
        };
        let (year, month, day) = moment.to_calendar_date();
        let (hour, minute, second, millisecond) = moment.to_hms_milli();
        let month = u8::from(month);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"
        )
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    fn now(&self) -> Timestamp {
        let elapsed = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_prints_as_rfc_3339_in_utc() {
        assert_eq!(
            Timestamp::from_millis(1_763_164_800_250).to_string(),
            "2025-11-15T00:00:00.250Z"
        );
    }

    #[test]
    fn texts_of_timestamps_are_ordered_like_the_timestamps() {
        let texts = [999, 1_000, 1_010, 1_011, 1_100, 1_500, 60_000]
            .map(|millis| Timestamp::from_millis(millis).to_string());
        assert!(texts.is_sorted(), "{texts:?}");
    }

    #[test]
    fn timestamp_arithmetic_saturates() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert_eq!(Timestamp::from_millis(0).since(end), Duration::ZERO);
    }
}
