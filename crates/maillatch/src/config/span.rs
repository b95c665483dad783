//! A duration as a person writes it: `500ms`, `30s`, `10m`, `24h`, `7d`.

use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// A duration in the configuration or on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// The text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration; write 500ms, 30s, 10m, 24h or 7d")]
pub(crate) struct SpanError(String);

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let wrong = || SpanError(text.chars().take(40).collect());
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
        let number: u64 = number.parse().ok().ok_or_else(wrong)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        let millis = number.checked_mul(millis).ok_or_else(wrong)?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_parsed() {
        let read = |text: &str| text.parse::<Span>().map(|span| span.0.as_millis());
        assert_eq!(read("500ms"), Ok(500));
        assert_eq!(read("30s"), Ok(30_000));
        assert_eq!(read("10m"), Ok(600_000));
        assert_eq!(read("24h"), Ok(86_400_000));
        assert_eq!(read("7d"), Ok(604_800_000));
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1 s",
            "1w",
            "99999999999999999999s",
        ] {
            assert!(bad.parse::<Span>().is_err(), "{bad:?}");
        }
    }
}
