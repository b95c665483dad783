//! What a worker notes in its claim while it works.

use std::time::Duration;

use pipeline::{ClaimToken, Completed, DeliveryId};

use super::end::{Counted, ended};
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;

/// Extends a claim, if no other worker has claimed the delivery since. A lease that has
/// expired meanwhile is valid again.
pub(crate) async fn extend<B: Backend>(
    session: Session<B>,
    delivery: DeliveryId,
    token: ClaimToken,
    lease: Duration,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond'
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(delivery.as_uuid())
    .bind(token.as_uuid())
    .bind(millis(lease))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}

/// Sets the number of attempts. The number is absolute, so that setting it twice counts
/// once.
///
/// In Postgres the commit does not wait for the disk: a crash of the worker does not lose
/// what the server has in memory. This must be quick, because a worker that is killed for
/// another reason while the attempt is counted blames the mail.
pub(crate) async fn set_attempts<B: Backend>(
    session: Session<B>,
    counted: Counted,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "WITH quick AS (SELECT set_config('synchronous_commit', 'off', true))
             UPDATE deliveries SET attempts = $3 FROM quick
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries SET attempts = $3
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(counted.delivery.as_uuid())
    .bind(counted.token.as_uuid())
    .bind(counted.attempts)
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}
