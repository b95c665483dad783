//! Claims that are given back, as if the delivery had not been claimed.

use std::time::Duration;

use pipeline::{Claim, ClaimToken, DeliveryId};
use tokio::time::sleep;

use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;
use crate::uncancelled::Uncancelled;

/// How often it is tried to give a claim back, and the pause after a failure. When all of
/// them fail, the lease ends the claim.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// What has to be known of a claim to give it back.
#[derive(Clone, Copy)]
pub(crate) struct GivenBack {
    delivery: DeliveryId,
    token: ClaimToken,
    unended: u32,
}

impl GivenBack {
    pub(crate) fn of(claim: &Claim) -> Self {
        Self {
            delivery: claim.delivery,
            token: claim.token,
            unended: claim.unended,
        }
    }
}

/// Makes the delivery claimable again after `wait`. A claim that has ended stays as it is.
pub(crate) async fn give_back<B: Backend>(
    session: Session<B>,
    claim: GivenBack,
    wait: Duration,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET state = 'pending', claim_token = NULL, unended_claims = $4,
                 claimable_at = clock_timestamp() + $3 * interval '1 millisecond',
                 ring_at = clock_timestamp() + $3 * interval '1 millisecond'
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
        sqlite: "UPDATE deliveries
             SET state = 'pending', claim_token = NULL, unended_claims = $4,
                 claimable_at = (SELECT now FROM clock) + $3,
                 ring_at = (SELECT now FROM clock) + $3
             WHERE id = $1 AND claim_token = $2 AND state = 'claimed'",
    })
    .bind(claim.delivery.as_uuid())
    .bind(claim.token.as_uuid())
    .bind(millis(wait))
    .bind(i64::from(claim.unended))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(())
}

/// Returns the claim to the database on drop, unless [`Self::keep`] was called. A slow
/// database may commit a claim after its worker gave up. Without this, the mail would wait
/// until the lease of that claim expires.
pub(crate) struct ReturnClaimOnDrop<B: Backend> {
    claim: Option<GivenBack>,
    session: Session<B>,
    work: Uncancelled,
}

impl<B: Backend> ReturnClaimOnDrop<B> {
    pub(crate) fn new(claim: &Claim, session: Session<B>, work: Uncancelled) -> Self {
        Self {
            claim: Some(GivenBack::of(claim)),
            session,
            work,
        }
    }

    /// The worker has the claim.
    pub(crate) fn keep(mut self) {
        self.claim = None;
    }
}

impl<B: Backend> Drop for ReturnClaimOnDrop<B> {
    fn drop(&mut self) {
        let Some(claim) = self.claim else {
            return;
        };
        let session = self.session.clone();
        self.work.spawn(async move {
            for _ in 0..TRIES {
                if give_back(session.clone(), claim, Duration::ZERO)
                    .await
                    .is_ok()
                {
                    return;
                }
                sleep(PAUSE).await;
            }
        });
    }
}
