//! What the webhook works with.

use std::sync::Arc;

use pipeline::{Clock, Meters, StorageQuota};
use providers::Sources;

use crate::certificates::Certificates;
use crate::commit::Committer;
use crate::refusals::RefusedPosts;
use crate::settings::Settings;

/// What the webhook works with.
#[derive(Clone)]
pub struct Deps {
    /// The configured sources, which verify their posts.
    pub sources: Arc<Sources>,
    /// Fetches and caches the certificates that some providers sign with.
    pub certificates: Arc<Certificates>,
    /// Records verified posts.
    pub committer: Committer,
    /// Tells whether a source may bring more mail.
    pub quota: Arc<StorageQuota>,
    /// Tells whether a signature is fresh.
    pub clock: Arc<dyn Clock>,
    /// Counts answers.
    pub meters: Meters,
    /// Counts refused posts for the operator.
    pub refused: Arc<RefusedPosts>,
    /// The budgets of a post.
    pub settings: Settings,
}
