//! What an operator may set.

use std::time::Duration;

/// The poller's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How often a source is asked although nothing suggests that mail is
    /// missing, unless the source says otherwise.
    pub every: Duration,
    /// How long an awaited mail may take before its source is asked for it.
    pub patience: Duration,
    /// For how long a poller holds a source; one that is gone longer loses it.
    pub lease: Duration,
    /// The most pages of one round.
    pub pages: usize,
    /// The longest a round may take.
    pub round_budget: Duration,
    /// The longest one answer of a source may take.
    pub answer_budget: Duration,
    /// The largest message that is taken.
    pub message_limit: usize,
    /// A source is not called silent before this.
    pub silence: Duration,
}

impl Settings {
    /// How often a lease is prolonged, and asked for by those who have none.
    pub(crate) fn beat(&self) -> Duration {
        self.lease / 3
    }
}
