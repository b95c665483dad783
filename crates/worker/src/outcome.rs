//! The result of one attempt at a delivery.

use pipeline::{Finished, Reason, StoreError};

/// The result of one attempt at a delivery.
#[derive(Debug)]
pub enum DeliveryOutcome {
    /// It is done, and these rows were written.
    Done(Finished),
    /// It is done, and it held no inbound mail.
    Ignored(Reason),
    /// It will be retried.
    RetryLater(Reason),
    /// It was given up and is kept for the operator.
    DeadLettered(Reason),
    /// Its lease had passed to another worker; nothing was written.
    Lost,
    /// Nothing to do: it is finished, not due yet, or claimed by another worker.
    NotClaimable,
    /// The database did not answer. The row is unchanged, and the delivery is
    /// retried when its lease expires.
    StoreUnavailable(StoreError),
}
