//! Health checks.

use async_trait::async_trait;

/// A component does not work; the text says why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProbeError(pub String);

/// A component whose health `/readyz` and `doctor` report.
#[async_trait]
pub trait Probe: Send + Sync {
    /// The component's name in reports.
    fn name(&self) -> &'static str;

    /// Does a small piece of the component's real work, within its own timeout.
    async fn probe(&self) -> Result<(), ProbeError>;

    /// Whether the component has failed for long although what it depends on works, so
    /// that only a restart of the process can help. `/livez` reports it.
    async fn needs_restart(&self) -> bool {
        false
    }
}
