//! This machine's clock against a server's, by the `Date` header of an answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::header::HttpDate;
use pipeline::{Clock, SystemClock};

/// How far apart the clocks of a sender and a receiver of Standard Webhooks may be.
pub(crate) const TOLERANCE: Duration = Duration::from_mins(5);

/// How many seconds this machine's clock is ahead of the server's; negative if it is
/// behind.
pub(crate) fn seconds_ahead(date: &str) -> Option<i64> {
    let date: HttpDate = date.parse().ok()?;
    let server = SystemTime::from(date).duration_since(UNIX_EPOCH).ok()?;
    let server = i64::try_from(server.as_secs()).ok()?;
    Some(SystemClock.now().as_seconds() - server)
}

/// Says that the clocks differ too much for a signature that is valid for so long, if they
/// do.
pub(crate) fn complaint(date: Option<&str>, tolerance: Duration) -> Option<String> {
    let apart = seconds_ahead(date?)?;
    let direction = if apart < 0 { "behind" } else { "ahead of" };
    // The post and the header took a moment each.
    (apart.unsigned_abs() + 5 > tolerance.as_secs()).then(|| {
        format!(
            "this machine's clock is {} s {direction} the server's, so the signature is not valid \
             now; synchronise both with NTP, then try again",
            apart.unsigned_abs()
        )
    })
}
