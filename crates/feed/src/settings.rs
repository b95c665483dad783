//! What an operator may tune.

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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            page_limit: 100,
            wait_limit: Duration::from_secs(55),
            replay_window: Duration::from_mins(2),
            max_waits: 256,
        }
    }
}
