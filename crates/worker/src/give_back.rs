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

/// The same claim again, for a second way to end it. Whichever comes first ends it;
/// the token keeps the other from changing anything.
pub(crate) fn copy_of(claim: &Claim) -> Claim {
    Claim {
        delivery: claim.delivery,
        token: claim.token,
        attempt: claim.attempt,
        unended: claim.unended,
        age: claim.age,
    }
}

/// Gives the claim back in the background, until the database answers. A damaged row
/// is left to its lease and counts as an attempt.
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
                // `Lost` means that it was completed, or that its lease passed on.
                if given_back.await.is_ok() {
                    return;
                }
            }
        });
    }
    DeliveryOutcome::StoreUnavailable(error)
}
