//! What an operator may tune.

use std::num::NonZeroU32;
use std::time::Duration;

/// The bounds of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most items on one page.
    pub page_limit: u32,
    /// The longest wait of one request; proxies and tool calls end at a minute.
    pub wait_limit: Duration,
    /// For how long the consumer of an artifact may ask for it again, in case
    /// the first answer was lost on its way.
    pub replay_window: Duration,
    /// How many waits one key may have open at once.
    pub max_waits: usize,
    /// How often may be asked.
    pub budgets: Budgets,
}

/// How many requests of a kind one key may make in a minute, in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Requests that read.
    pub reads: NonZeroU32,
    /// Consumes.
    pub consumes: NonZeroU32,
    /// Consumes that come to nothing.
    pub failed_consumes: NonZeroU32,
    /// Attempts and inboxes opened or changed, and keys.
    pub attempts: NonZeroU32,
    /// Requests without a good key, of one address.
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
