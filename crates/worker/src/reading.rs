//! Reads the bytes of a delivery so that a crash of the process is blamed on the mail
//! that caused it.
//!
//! Reading many mails at once counts no attempts. If the process dies, the claims of all
//! of them are left open, and each is a suspect: it is read while no other mail is, and
//! attempts are counted while it is read. The one that kills the process again keeps its
//! count and is dead-lettered in the end. The others survive, and their counts are taken
//! back.
//!
//! The process may also be killed for another reason while it reads a suspect. So one
//! count does not dead-letter a mail, and a mail with a count is read after the others:
//! if the process is killed soon after each start, the same mail is not blamed each time.

use std::time::Duration;

use pipeline::{Claim, Completed};

use crate::deps::Deps;
use crate::failure::Failure;
use crate::give_back::copy_of;

/// How often the process may die while it reads a mail alone, before the mail is
/// dead-lettered.
const DEATHS: u32 = 3;
/// How much longer a suspect waits for each attempt that was counted.
const LATER: Duration = Duration::from_secs(1);

/// Delays a suspect with counted attempts, so that the other suspects are read before it.
pub(crate) async fn wait_for_others(claim: &Claim) {
    if claim.unended > 0 {
        tokio::time::sleep(LATER * claim.attempt.saturating_sub(1)).await;
    }
}

/// Runs `work`, which reads the bytes of the delivery of `claim`: beside other mails, or
/// alone and with a counted attempt if the delivery is a suspect.
pub(crate) async fn reading<T>(
    deps: &Deps,
    claim: &Claim,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if claim.unended == 0 {
        let _together = deps.reading.read().await;
        return work.await;
    }
    let _alone = deps.reading.write().await;
    let share = deps.settings.backoff.attempts.div_ceil(DEATHS).max(1);
    let counted = Claim {
        attempt: claim.attempt.saturating_add(share - 1),
        ..copy_of(claim)
    };
    match deps.work.count_attempt(&counted).await {
        Ok(Completed::Done(())) => {}
        // A lost claim has an old token, so giving it back changes nothing.
        Ok(Completed::Lost) => return Err(Failure::store_unavailable()),
        Err(error) => return Err(Failure::of_store(&error)),
    }
    let read = work.await;
    // If this fails, the count is corrected when the claim ends.
    if let Err(error) = deps.work.uncount_attempt(claim).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(delivery.id = %claim.delivery, error, "failed to take back a counted attempt");
    }
    read
}
