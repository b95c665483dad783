//! Reads a body within budgets of bytes, memory and time. Actix never times out a
//! slow body, and its own extractors would decompress the bytes that were signed.

use std::time::Duration;

use actix_web::web;
use futures_util::StreamExt;

use crate::budget::{BudgetSpent, Reservation};

/// Memory allocated before the first byte. A larger body grows as it arrives,
/// because `Content-Length` is only a claim of the sender.
const FIRST_CAPACITY: usize = 16 * 1024;

/// The body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It is longer than the limit.
    TooLarge,
    /// It did not arrive within the time budget.
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
    tokio::time::timeout(time, collect(payload, limit, reservation))
        .await
        .unwrap_or(Err(ReadError::Timeout))
}

async fn collect(
    payload: &mut web::Payload,
    limit: usize,
    reservation: &mut Reservation,
) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::with_capacity(FIRST_CAPACITY.min(limit));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.ok().ok_or(ReadError::Broken)?;
        if body.len() + chunk.len() > limit {
            return Err(ReadError::TooLarge);
        }
        reservation.grow(chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
