//! Reads the bytes of a delivery so that a crash of the process is blamed on the mail
//! that caused it.
//!
//! Reading many mails at once counts no attempts. If the process dies, the claims of all
//! of them are left open, and each is a suspect: it is read while no other mail is, and
//! attempts are counted while it is read. The one that kills the process again keeps its
//! count and is dead-lettered in the end. The others survive, and their counts are taken
//! back.
//!
//! A process may be killed by others, at the moment of reading, too. So one count is not
//! enough, and a mail that was counted is read after the others: a process that is killed
//! soon after each start does not blame the same mail each time.

use std::time::Duration;

use pipeline::{Claim, Completed};

use crate::deps::Deps;
use crate::failure::Failure;
use crate::give_back::copy_of;

/// A mail is dead-lettered when the process has died so often while it was read alone.
const DEATHS: u32 = 3;
/// How much longer a suspect waits for each attempt that is counted.
const LATER: Duration = Duration::from_secs(1);

/// Lets the other suspects be read before one that attempts were counted for.
pub(crate) async fn wait_for_others(claim: &Claim) {
    if claim.unended > 0 {
        tokio::time::sleep(LATER * claim.attempt.saturating_sub(1)).await;
    }
}

/// Runs `work`, which touches the bytes of the delivery of `claim`.
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
        // The token keeps a lost claim from changing anything when it is given back.
        Ok(Completed::Lost) | Err(_) => return Err(Failure::store_unavailable()),
    }
    let read = work.await;
    // If this fails, the count is corrected when the claim ends.
    if let Err(error) = deps.work.uncount_attempt(claim).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(delivery.id = %claim.delivery, error, "an attempt stays counted");
    }
    read
}
