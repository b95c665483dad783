//! Reads the bytes of a delivery so that a crash of the process is blamed on the mail
//! that caused it.
//!
//! Reading many mails at once counts no attempts. If the process dies, the claims of all
//! of them are left open, and each is a suspect: it is read while no other mail is. After
//! several such claims its attempt is counted while it is read. The one that kills the
//! process again keeps its count and is dead-lettered in the end. The others survive, and
//! their counts are taken back.

use pipeline::{Claim, Completed};

use crate::deps::Deps;
use crate::failure::Failure;

/// How many claims may be left open before attempts are counted. A process may be killed
/// by others, and a kill at the moment of reading says nothing about the mail.
const FREE: u32 = 2;

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
    if claim.unended <= FREE {
        return work.await;
    }
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
