//! Counts the posts in progress for each receiver.

use std::collections::BTreeMap;

use super::BATCH;

/// The number of posts in progress for each receiver.
#[derive(Debug, Default)]
pub(super) struct InProgress(BTreeMap<String, u32>);

impl InProgress {
    pub(super) fn begin(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    pub(super) fn end(&mut self, name: &str) {
        if let Some(count) = self.0.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    /// The receivers that have reached the limit.
    pub(super) fn busy(&self) -> Vec<String> {
        let busy = self.0.iter().filter(|(_, count)| **count >= BATCH);
        busy.map(|(name, _)| name.clone()).collect()
    }
}
