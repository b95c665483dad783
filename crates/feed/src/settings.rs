//! The limits that an operator may configure.

use std::num::NonZeroU32;
use std::time::Duration;

/// The limits of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most items on one page.
    pub page_limit: u32,
    /// The longest wait of one request. Many proxies and tool calls time out after
    /// a minute.
    pub wait_limit: Duration,
    /// For how long the consumer of an artifact may ask for the same value again,
    /// in case the first response was lost.
    pub replay_window: Duration,
    /// How many waits one key may have open at once.
    pub max_waits: usize,
    /// How many requests a minute one key may make.
    pub budgets: Budgets,
}

/// How many requests of each kind one key may make in a minute. Each process counts
/// for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Requests that read.
    pub reads: NonZeroU32,
    /// Consumes.
    pub consumes: NonZeroU32,
    /// Consumes that fail: not found, already consumed, expired.
    pub failed_consumes: NonZeroU32,
    /// Requests that create or change attempts, inboxes, keys, guards or sends.
    pub attempts: NonZeroU32,
    /// Requests without a valid key, for each client address.
    pub unauthenticated: NonZeroU32,
}

impl Default for Budgets {
    fn default() -> Self {
        let per_minute = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            reads: per_minute(6000),
            consumes: per_minute(3000),
            failed_consumes: per_minute(300),
            attempts: per_minute(3000),
            unauthenticated: per_minute(120),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            page_limit: 100,
            wait_limit: Duration::from_secs(55),
            replay_window: Duration::from_mins(2),
            max_waits: 256,
            budgets: Budgets::default(),
        }
    }
}
