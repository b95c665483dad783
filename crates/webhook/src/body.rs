//! Reads a body within budgets of bytes, memory and time. Actix never times out a
//! slow body, and its own extractors would decompress the bytes that were signed.

use std::time::Duration;

use actix_web::web;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use crate::budget::{BudgetSpent, Reservation};

/// Memory allocated before the first byte. A larger body grows as it arrives,
/// because `Content-Length` is only a claim of the sender.
const FIRST_CAPACITY: usize = 16 * 1024;

/// A client must send at least this many bytes a second on average, once the grace
/// time is over. A client that sends slower holds memory for no good reason.
const LEAST_BYTES_A_SECOND: u64 = 8 * 1024;
const GRACE: Duration = Duration::from_secs(2);
/// How often the rate is checked while no byte arrives.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// The body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It is longer than the limit.
    TooLarge,
    /// It did not arrive within the time budget, or too slowly.
    Timeout,
    /// The connection or the HTTP framing broke.
    Broken,
    /// The memory budget is spent.
    Overloaded,
}

impl From<BudgetSpent> for ReadError {
    fn from(BudgetSpent: BudgetSpent) -> Self {
        Self::Overloaded
    }
}

/// Reads the whole body. Its bytes are added to `reservation` as they arrive.
pub(crate) async fn read(
    payload: &mut web::Payload,
    limit: usize,
    time: Duration,
    reservation: &mut Reservation,
) -> Result<Vec<u8>, ReadError> {
    timeout(time, collect(payload, limit, reservation))
        .await
        .unwrap_or(Err(ReadError::Timeout))
}

async fn collect(
    payload: &mut web::Payload,
    limit: usize,
    reservation: &mut Reservation,
) -> Result<Vec<u8>, ReadError> {
    let began = Instant::now();
    let mut body = Vec::with_capacity(FIRST_CAPACITY.min(limit));
    loop {
        match timeout(CHECK_EVERY, payload.next()).await {
            Ok(None) => return Ok(body),
            Ok(Some(chunk)) => {
                let chunk = chunk.ok().ok_or(ReadError::Broken)?;
                if body.len() + chunk.len() > limit {
                    return Err(ReadError::TooLarge);
                }
                reservation.grow(chunk.len())?;
                body.extend_from_slice(&chunk);
            }
            Err(_no_byte_yet) => {}
        }
        if is_too_slow(body.len(), began.elapsed()) {
            return Err(ReadError::Timeout);
        }
    }
}

fn is_too_slow(received: usize, elapsed: Duration) -> bool {
    let expected = elapsed.saturating_sub(GRACE).as_millis() * u128::from(LEAST_BYTES_A_SECOND);
    (received as u128) * 1000 < expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_client_is_refused_after_the_grace_time() {
        let slow = |bytes, millis| is_too_slow(bytes, Duration::from_millis(millis));
        assert!(!slow(0, 2_000));
        assert!(slow(0, 2_001));
        assert!(slow(8 * 1024 - 1, 3_000));
        assert!(!slow(8 * 1024, 3_000));
        assert!(!slow(10 << 20, 60_000));
    }
}
