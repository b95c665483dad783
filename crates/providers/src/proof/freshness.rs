//! How old a proof may be. A provider that signs every retry with a new time gets a
//! narrow window. One that keeps the time of the first attempt needs a window as long
//! as its retries.

use std::time::Duration;

use pipeline::Timestamp;

use crate::proof::VerifyError;

/// How a timestamp is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds since the epoch, in ten digits.
    Seconds,
    /// Milliseconds since the epoch, in thirteen digits.
    Millis,
}

impl Unit {
    /// Writes a moment as the sender does.
    pub(crate) fn write(self, at: Timestamp) -> String {
        match self {
            Self::Seconds => at.as_seconds().to_string(),
            Self::Millis => at.as_millis().to_string(),
        }
    }

    /// Reads plain digits: no sign, no leading zero, no space. So a moment has one
    /// spelling, and the arithmetic cannot overflow.
    pub(crate) fn read(self, text: &[u8]) -> Result<Timestamp, VerifyError> {
        let (digits, millis) = match self {
            Self::Seconds => (10, 1000),
            Self::Millis => (13, 1),
        };
        let shaped = text.len() == digits
            && text.iter().all(u8::is_ascii_digit)
            && text.first().is_some_and(|&digit| digit != b'0');
        if !shaped {
            return Err(VerifyError::TimestampMalformed);
        }
        let number = text
            .iter()
            .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Ok(Timestamp::from_millis(number * millis))
    }
}

/// Whether `stamp` is within `tolerance` of `now`, before or after, in whole seconds
/// as senders count.
pub(crate) fn check(
    stamp: Timestamp,
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), VerifyError> {
    let age = now.as_seconds().saturating_sub(stamp.as_seconds());
    if age.unsigned_abs() <= tolerance.as_secs() {
        Ok(())
    } else {
        Err(VerifyError::Stale(age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_10_digits_of_seconds_or_13_of_milliseconds() {
        let moment = Timestamp::from_millis(1_763_164_800_000);
        assert_eq!(Unit::Seconds.read(b"1763164800"), Ok(moment));
        assert_eq!(Unit::Millis.read(b"1763164800000"), Ok(moment));
        for bad in [
            "",
            "0763164800",
            "+763164800",
            "-763164800",
            "176316480",
            "17631648000",
            " 763164800",
            "1763164800 ",
            "1.76316480",
            "-9223372036854775808",
            "١٧٦٣١٦٤٨٠٠",
            "9223372036854775807",
        ] {
            for unit in [Unit::Seconds, Unit::Millis] {
                let read = unit.read(bad.as_bytes());
                assert_eq!(read, Err(VerifyError::TimestampMalformed), "{bad:?}");
            }
        }
        assert!(Unit::Seconds.read(b"1763164800000").is_err());
        assert!(Unit::Millis.read(b"1763164800").is_err());
    }

    #[test]
    fn timestamp_exactly_at_the_tolerance_is_accepted() {
        let tolerance = Duration::from_mins(5);
        let now = Timestamp::from_millis(1_763_164_800_999);
        let at = |offset: i64| Timestamp::from_millis((1_763_164_800 + offset) * 1000);
        for (offset, expected) in [
            (-301, Err(VerifyError::Stale(301))),
            (-300, Ok(())),
            (0, Ok(())),
            (300, Ok(())),
            (301, Err(VerifyError::Stale(-301))),
        ] {
            assert_eq!(check(at(offset), now, tolerance), expected, "{offset}");
        }
    }
}
