//! Reads the bytes of a delivery so that a crash of the process is blamed on the mail
//! that caused it.
//!
//! Reading many mails at once counts no attempts. If the process dies, the claims of all
//! of them are left open, and each is a suspect: its attempt is counted, and it is read
//! while no other mail is. The one that kills the process again keeps its count and is
//! dead-lettered in the end. The count of the others is taken back.

use pipeline::{Claim, Completed};

use crate::deps::Deps;
use crate::failure::Failure;

/// Runs `work`, which touches the bytes of the delivery of `claim`.
pub(crate) async fn reading<T>(
    deps: &Deps,
    claim: &Claim,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if !claim.is_suspect {
        let _together = deps.reading.read().await;
        return work.await;
    }
    let _alone = deps.reading.write().await;
    match deps.work.count_attempt(claim).await {
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
