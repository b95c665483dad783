//! How a part says whether it works.

use async_trait::async_trait;

/// A part is not able to do its work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProbeError(pub String);

/// Something whose health `/readyz` and `doctor` report.
#[async_trait]
pub trait Probe: Send + Sync {
    /// The part's name in reports.
    fn name(&self) -> &'static str;

    /// Does a little of the part's real work, within a deadline of its own.
    async fn probe(&self) -> Result<(), ProbeError>;
}
