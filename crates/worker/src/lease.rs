//! Keeps a claim while its delivery is processed, however long that takes. A lease then
//! expires only when its worker is dead, frozen, or cut off from the database.

use pipeline::{Claim, Completed};

use crate::deps::Deps;

/// Extends the claim again and again. Never returns; it is dropped when the work ends.
pub(crate) async fn keep(deps: &Deps, claim: &Claim) -> std::convert::Infallible {
    let lease = deps.settings.lease;
    loop {
        tokio::time::sleep(lease / 3).await;
        match deps.work.extend(claim, lease).await {
            Ok(Completed::Done(())) => {}
            // The claim has just ended, or another worker has it. The write at the end of
            // the work finds out.
            Ok(Completed::Lost) => return std::future::pending().await,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(delivery.id = %claim.delivery, error, "failed to extend a lease");
            }
        }
    }
}
