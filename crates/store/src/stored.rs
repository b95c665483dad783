//! From the values of a row to the types of the pipeline, and back. A value that this
//! code never writes is reported as damage.

use std::time::Duration;

use pipeline::{InboxId, Reason, SourceName, Verdict};

use crate::fault::Fault;
use crate::seal::OVERHEAD;

/// A duration in milliseconds, as both databases add it to their clock. It is at most
/// a hundred years, so that no sum leaves the range of a time.
pub(crate) fn millis(span: Duration) -> i64 {
    const CENTURY: i64 = 100 * 365 * 24 * 60 * 60 * 1000;
    i64::try_from(span.as_millis()).map_or(CENTURY, |millis| millis.min(CENTURY))
}

/// A duration that a database has measured; zero if its clock was set back.
pub(crate) fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// A count that a database has made.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// How many bytes a body takes, without what sealing adds.
pub(crate) fn body_bytes(sealed: i64) -> u64 {
    count(sealed).saturating_sub(OVERHEAD)
}

/// What a consume request names. The same idempotency key for the other kind is another
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsumeTarget {
    /// An attempt: its newest artifact.
    Attempt,
    /// An item of the feed.
    Artifact,
}

impl ConsumeTarget {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Artifact => "artifact",
        }
    }
}

/// A number of attempts.
pub(crate) fn attempts(number: i32) -> Result<u32, Fault> {
    u32::try_from(number).or(Err(Fault::Damaged("attempts")))
}

/// A digest of a delivery's content.
pub(crate) fn content_digest(bytes: &[u8]) -> Result<[u8; 32], Fault> {
    bytes.try_into().or(Err(Fault::Damaged("content_digest")))
}

/// The name of a source.
pub(crate) fn source(name: &str) -> Result<SourceName, Fault> {
    name.parse().or(Err(Fault::Damaged("source")))
}

/// The address of an inbox.
pub(crate) fn inbox(address: &str) -> Result<InboxId, Fault> {
    address.parse().or(Err(Fault::Damaged("inbox")))
}

/// A verdict and its reason.
pub(crate) fn verdict(word: &str, reason: Option<&str>) -> Result<Verdict, Fault> {
    Verdict::from_words(word, reason.map(Reason::from_stored)).ok_or(Fault::Damaged("verdict"))
}

/// Joins words for one column. Flags, domains and hosts contain no space.
pub(crate) fn joined(words: &[String]) -> String {
    words.join(" ")
}

/// Splits a column that [`joined`] has written.
pub(crate) fn split(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_duration_is_stored_as_a_hundred_years() {
        assert_eq!(millis(Duration::from_millis(1500)), 1500);
        assert_eq!(millis(Duration::MAX), 3_153_600_000_000);
    }

    #[test]
    fn an_unknown_verdict_is_damage() {
        assert!(verdict("usable", None).is_ok());
        assert!(verdict("usable", Some("too_deep")).is_err());
        assert!(verdict("maybe", None).is_err());
    }
}
