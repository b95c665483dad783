//! What an operator may set.

use std::time::Duration;

/// The poller's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The time between two routine polls of a source, unless the source sets its own.
    pub every: Duration,
    /// How long an inbox is awaited before the sources that can hold its mail are
    /// polled.
    pub patience: Duration,
    /// How long a poller's lease on a source lasts. A poller that does not renew it in
    /// time loses the source.
    pub lease: Duration,
    /// The most pages that one round reads.
    pub pages: usize,
    /// The longest a round may take.
    pub round_budget: Duration,
    /// The longest that one answer of a source may take.
    pub answer_budget: Duration,
    /// The largest message that is accepted, in bytes.
    pub message_limit: usize,
    /// The shortest silence that raises an alarm.
    pub silence: Duration,
}

impl Settings {
    /// How often a lease is renewed, and requested by pollers that do not hold it.
    pub(crate) fn renewal_interval(&self) -> Duration {
        self.lease / 3
    }
}
