//! How old a proof may be. A provider that signs every try anew gets a narrow
//! window; one that keeps the first try's time needs one as wide as its retries.

use std::time::Duration;

use pipeline::Timestamp;

use crate::VerifyError;

/// Seconds since the epoch, written as ten digits: no sign, no leading zero, no
/// space, so that one moment has one spelling and arithmetic cannot overflow.
pub(crate) fn unix_seconds(text: &[u8]) -> Result<Timestamp, VerifyError> {
    let shaped = text.len() == 10
        && text.iter().all(u8::is_ascii_digit)
        && text.first().is_some_and(|&digit| digit != b'0');
    if !shaped {
        return Err(VerifyError::TimestampMalformed);
    }
    let seconds = text
        .iter()
        .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Ok(Timestamp::from_millis(seconds * 1000))
}

/// Whether `stamp` lies within `tolerance` of `now`, on either side, reckoned
/// in whole seconds as the senders do.
pub(crate) fn check(
    stamp: Timestamp,
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), VerifyError> {
    let apart = now.as_seconds().abs_diff(stamp.as_seconds());
    if apart <= tolerance.as_secs() {
        Ok(())
    } else {
        Err(VerifyError::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ten_plain_digits_are_a_timestamp() {
        assert_eq!(
            unix_seconds(b"1763164800"),
            Ok(Timestamp::from_millis(1_763_164_800_000))
        );
        for bad in [
            "",
            "0763164800",
            "+763164800",
            "-763164800",
            "176316480",
            "17631648000",
            "1763164800000",
            " 763164800",
            "1763164800 ",
            "1.76316480",
            "-9223372036854775808",
            "١٧٦٣١٦٤٨٠٠",
        ] {
            assert_eq!(
                unix_seconds(bad.as_bytes()),
                Err(VerifyError::TimestampMalformed),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn the_window_is_closed_at_its_edges() {
        let tolerance = Duration::from_mins(5);
        let now = Timestamp::from_millis(1_763_164_800_999);
        let at = |offset: i64| Timestamp::from_millis((1_763_164_800 + offset) * 1000);
        for (offset, expected) in [
            (-301, Err(VerifyError::Stale)),
            (-300, Ok(())),
            (0, Ok(())),
            (300, Ok(())),
            (301, Err(VerifyError::Stale)),
        ] {
            assert_eq!(check(at(offset), now, tolerance), expected, "{offset}");
        }
    }
}
