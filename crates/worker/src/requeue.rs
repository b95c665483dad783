//! Requeues deliveries that earlier versions dead-lettered because our own database
//! was unavailable.

use pipeline::{FailureLog, StoreError};

use crate::failure::STORE_UNAVAILABLE;

/// How many dead letters are looked at.
const MOST: u32 = 10_000;

/// Requeues every dead letter whose reason is an outage of our database; returns how
/// many there were.
pub(crate) async fn requeue_store_failures(failures: &dyn FailureLog) -> Result<u32, StoreError> {
    let mut requeued = 0;
    for dead_letter in failures.dead_letters(MOST).await? {
        if dead_letter.reason == STORE_UNAVAILABLE && failures.requeue(dead_letter.id).await? {
            requeued += 1;
        }
    }
    Ok(requeued)
}
