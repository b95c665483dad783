//! Reads a body within budgets of bytes, memory and time. Actix never ends a
//! slow body by itself, and its own extractors decompress what was signed.

use std::time::Duration;

use actix_web::web;
use futures_util::StreamExt;

use crate::budget::{Held, Spent};

/// Room made before the first byte; a larger body grows as it comes, for a
/// promised length is not a received one.
const FIRST_ROOM: usize = 16 * 1024;

/// The body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It is longer than the limit.
    TooLarge,
    /// It did not come in time.
    TooSlow,
    /// The connection or its framing broke.
    Broken,
    /// There is no memory for it now.
    Crowded,
}

impl From<Spent> for ReadError {
    fn from(Spent: Spent) -> Self {
        Self::Crowded
    }
}

/// The whole body, taken from `held`'s budget as it comes.
pub(crate) async fn read(
    payload: &mut web::Payload,
    limit: usize,
    time: Duration,
    held: &mut Held,
) -> Result<Vec<u8>, ReadError> {
    tokio::time::timeout(time, collect(payload, limit, held))
        .await
        .unwrap_or(Err(ReadError::TooSlow))
}

async fn collect(
    payload: &mut web::Payload,
    limit: usize,
    held: &mut Held,
) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::with_capacity(FIRST_ROOM.min(limit));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.ok().ok_or(ReadError::Broken)?;
        if body.len() + chunk.len() > limit {
            return Err(ReadError::TooLarge);
        }
        held.grow(chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
