//! The quota of stored bytes: how much of other people's mail is kept, and which source
//! may still bring some.
//!
//! What is counted are the bodies of deliveries, and [`StorageQuota::ROW`] for each. When
//! all of them exceed the quota, the bodies of finished deliveries are deleted, oldest
//! first. When those of unfinished ones alone do, no more are accepted until some are
//! finished. One source gets at most three quarters of the quota for its unfinished
//! deliveries, so that mail through one source does not keep the others from delivering.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::SourceName;

/// The outcome of deleting bodies before their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freed {
    /// How many bodies were deleted.
    pub count: u64,
    /// How many bytes they took, as the quota counts them.
    pub bytes: u64,
}

/// The quota, and how much of it unfinished deliveries take. The figure is measured every
/// few seconds, and what this process records is added meanwhile; so the check of a post
/// asks no database.
#[derive(Debug, Default)]
pub struct StorageQuota {
    /// The quota in bytes; 0 is none.
    most: u64,
    unfinished: Mutex<HashMap<SourceName, u64>>,
    is_freeing: AtomicBool,
}

/// What one source may take.
fn share(most: u64) -> u64 {
    most - most / 4
}

fn sum(unfinished: &HashMap<SourceName, u64>) -> u64 {
    unfinished
        .values()
        .fold(0, |sum, own| sum.saturating_add(*own))
}

impl StorageQuota {
    /// What a delivery takes besides its body, in bytes: its row and those of its
    /// messages and items, with their indexes.
    pub const ROW: u64 = 2048;

    /// A quota of `bytes`; 0 is no quota.
    pub fn new(bytes: u64) -> Self {
        Self {
            most: bytes,
            ..Self::default()
        }
    }

    /// The quota in bytes, if there is one.
    pub fn bytes(&self) -> Option<u64> {
        (self.most > 0).then_some(self.most)
    }

    /// Whether a source may bring more deliveries.
    pub fn has_room(&self, source: &SourceName) -> bool {
        let Some(most) = self.bytes() else {
            return true;
        };
        let unfinished = self.by_source();
        let own = unfinished.get(source).copied().unwrap_or(0);
        own < share(most) && sum(&unfinished) < most
    }

    /// Adds a delivery that was recorded since the last measurement. Its body may be packed
    /// in the database, so this counts too much rather than too little until then.
    pub fn add(&self, source: &SourceName, body: usize) {
        if self.most == 0 {
            return;
        }
        let bytes = Self::ROW.saturating_add(body as u64);
        let mut unfinished = self.by_source();
        let count = unfinished.entry(source.clone()).or_default();
        *count = count.saturating_add(bytes);
    }

    /// Replaces the figures by measured ones.
    pub fn set_unfinished(&self, measured: impl IntoIterator<Item = (SourceName, u64)>) {
        *self.by_source() = measured.into_iter().collect();
    }

    /// What unfinished deliveries of all sources take.
    pub fn unfinished(&self) -> u64 {
        sum(&self.by_source())
    }

    /// Says whether bodies are deleted before their time.
    pub fn set_freeing(&self, is_freeing: bool) {
        self.is_freeing.store(is_freeing, Ordering::Relaxed);
    }

    /// What an operator should know; it names no source.
    pub fn warning(&self) -> Option<String> {
        let most = self.bytes()?;
        let unfinished = self.by_source();
        let is_full = |bytes: &u64| *bytes >= share(most);
        if sum(&unfinished) >= most || unfinished.values().any(is_full) {
            return Some(format!(
                "unfinished mail fills its share of the {most} bytes of retention.max_bytes; \
                 posts are answered 503"
            ));
        }
        self.is_freeing.load(Ordering::Relaxed).then(|| {
            format!("bodies are deleted early to keep the {most} bytes of retention.max_bytes")
        })
    }

    /// A poisoned lock is safe to use: the map holds only counts.
    fn by_source(&self) -> MutexGuard<'_, HashMap<SourceName, u64>> {
        self.unfinished
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> SourceName {
        name.parse().unwrap()
    }

    #[test]
    fn one_source_gets_three_quarters_and_all_together_the_whole() {
        let quota = StorageQuota::new(8 * StorageQuota::ROW);
        let accepted = |name: &str| {
            let source = source(name);
            (0..20)
                .take_while(|_| {
                    let has_room = quota.has_room(&source);
                    if has_room {
                        quota.add(&source, 0);
                    }
                    has_room
                })
                .count()
        };
        assert_eq!(quota.warning(), None);
        assert_eq!([accepted("flooded"), accepted("other")], [6, 2]);
        assert!(quota.warning().is_some_and(|text| text.contains("503")));
        assert!(!quota.has_room(&source("third")));
        quota.set_unfinished([(source("flooded"), StorageQuota::ROW)]);
        assert!(quota.has_room(&source("flooded")));
        assert_eq!(quota.warning(), None);
        quota.set_freeing(true);
        assert!(quota.warning().is_some_and(|text| text.contains("early")));
    }

    #[test]
    fn quota_of_zero_is_no_quota() {
        let quota = StorageQuota::new(0);
        quota.add(&source("a"), usize::MAX);
        quota.set_unfinished([(source("a"), u64::MAX)]);
        quota.set_freeing(true);
        assert!(quota.has_room(&source("a")));
        assert_eq!((quota.bytes(), quota.warning()), (None, None));
    }
}
