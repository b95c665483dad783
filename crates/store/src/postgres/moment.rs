//! Times as Postgres keeps them.

use pipeline::Timestamp;
use time::OffsetDateTime;

/// A `timestamptz`, to the millisecond.
pub(super) fn timestamp(moment: OffsetDateTime) -> Timestamp {
    let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
