//! How a claim ends without a result.

use std::time::Duration;

use pipeline::{Claim, ClaimToken, Completed, DeliveryId, Reason};

use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;

/// A claim, and the number of attempts that its row gets.
pub(crate) struct Counted {
    pub(super) delivery: DeliveryId,
    pub(super) token: ClaimToken,
    pub(super) attempts: i64,
}

impl Counted {
    pub(crate) fn of(claim: &Claim, attempts: u32) -> Self {
        Self {
            delivery: claim.delivery,
            token: claim.token,
            attempts: attempts.into(),
        }
    }
}

pub(crate) async fn retry_later<B: Backend>(
    session: Session<B>,
    counted: Counted,
    wait: Duration,
    why: Reason,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'pending',
                 claim_token = NULL,
                 claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond',
                 reason = $4,
                 attempts = $5,
                 unended_claims = 0
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET state = 'pending',
                 claim_token = NULL,
                 claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3,
                 reason = $4,
                 attempts = $5,
                 unended_claims = 0
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(counted.delivery.as_uuid())
    .bind(counted.token.as_uuid())
    .bind(millis(wait))
    .bind(why.as_str())
    .bind(counted.attempts)
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}

pub(crate) async fn dead_letter<B: Backend>(
    session: Session<B>,
    claim: Claim,
    why: Reason,
) -> Result<Completed, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'buried', claim_token = NULL, reason = $3, attempts = $4,
                 finished_at = clock_timestamp()
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET state = 'buried', claim_token = NULL, reason = $3, attempts = $4,
                 finished_at = (SELECT now FROM clock)
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(why.as_str())
    .bind(i64::from(claim.attempt))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(ended(written))
}

pub(super) fn ended(rows: u64) -> Completed {
    match rows {
        0 => Completed::Lost,
        _ => Completed::Done(()),
    }
}
