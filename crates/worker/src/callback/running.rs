//! How many tries are under way, by receiver.

use std::collections::BTreeMap;

use super::BATCH;

/// Counts the tries under way.
#[derive(Debug, Default)]
pub(super) struct Running(BTreeMap<String, u32>);

impl Running {
    pub(super) fn begin(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    pub(super) fn end(&mut self, name: &str) {
        if let Some(count) = self.0.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    /// The receivers that have enough to do.
    pub(super) fn busy(&self) -> Vec<String> {
        let busy = self.0.iter().filter(|(_, count)| **count >= BATCH);
        busy.map(|(name, _)| name.clone()).collect()
    }
}
