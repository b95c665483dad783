//! Posts that were refused: they are counted, and nothing of them is kept.

use async_trait::async_trait;

use super::StoreError;
use crate::{Reason, SourceName};

/// The posts to one source that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The source; `None` for posts to a path that no source has.
    pub source: Option<SourceName>,
    /// The reason.
    pub reason: Reason,
    /// How many posts.
    pub posts: u64,
    /// How many seconds older than its receipt the last of them was, by its own
    /// timestamp; negative if it came from the future. Only for the reason `stale`.
    pub seconds_old: Option<i64>,
}

/// Counts refused posts: for the webhook and `doctor`. The counts of all processes add
/// up.
#[async_trait]
pub trait RefusalLog: Send + Sync {
    /// Adds to the counts of this moment, and forgets counts of more than two hours ago.
    /// The number of rows is bounded by the numbers of sources and of reasons.
    async fn add_refusals(&self, refusals: Vec<Refusals>) -> Result<(), StoreError>;

    /// The counts of the last hour, most posts first.
    async fn recent_refusals(&self) -> Result<Vec<Refusals>, StoreError>;
}
