//! Gives a claim back when our own database was unavailable. No attempt is counted,
//! because an outage of ours says nothing about the mail.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Claim, Class, StoreError};

use crate::deps::Deps;
use crate::failure::STORE_UNAVAILABLE;
use crate::outcome::DeliveryOutcome;

/// Bounds of the random wait before a delivery is retried after an outage, and
/// between two tries to give its claim back.
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A random wait, so that many deliveries do not come back at the same time.
pub(crate) fn outage_wait() -> Duration {
    rand::random_range(SHORTEST_WAIT..=LONGEST_WAIT)
}

/// A copy of a claim, so that it can be ended in two ways. The one that comes first ends
/// it; the other one finds an old token and changes nothing.
pub(crate) fn copy_of(claim: &Claim) -> Claim {
    Claim {
        delivery: claim.delivery,
        token: claim.token,
        attempt: claim.attempt,
        unended: claim.unended,
        age: claim.age,
    }
}

/// Gives the claim back in the background, and retries until the database answers. A claim that
/// the database refuses to take back is left until its lease expires.
pub(crate) async fn give_back(
    deps: &Arc<Deps>,
    claim: Claim,
    error: StoreError,
) -> DeliveryOutcome {
    if error.class() == Class::Transient {
        let deps = Arc::clone(deps);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(outage_wait()).await;
                let (claim, wait) = (copy_of(&claim), outage_wait());
                let given_back = deps.work.retry_uncounted(claim, wait, STORE_UNAVAILABLE);
                // `Lost` means that it was completed, or that another worker has claimed it.
                match given_back.await {
                    Err(error) if error.class() == Class::Transient => {}
                    Ok(_) | Err(_) => return,
                }
            }
        });
    }
    DeliveryOutcome::StoreUnavailable(error)
}
