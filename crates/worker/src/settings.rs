//! What an operator may set.

use std::time::Duration;

use extract::Policy;
use pipeline::{Backoff, UpstreamBackoff};

use crate::InboxPolicy;

/// The worker's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many deliveries are worked on at once.
    pub concurrency: usize,
    /// For how long a claim holds; a worker that is gone longer loses it.
    pub lease: Duration,
    /// When to try again and when to give up.
    pub backoff: Backoff,
    /// How long to wait for a provider's API that is away.
    pub fetch_backoff: UpstreamBackoff,
    /// How long the parser may take over one mail.
    pub parse_budget: Duration,
    /// Which addresses become inboxes.
    pub inboxes: InboxPolicy,
    /// What the extractor may give out.
    pub policy: Policy,
    /// For how long an artifact may be consumed after its mail was received.
    pub lifetime: Duration,
    /// Within this time the same value to the same inbox is the same artifact.
    pub same_value_window: Duration,
    /// Whether mail is kept back everywhere unless its sender is proven.
    pub needs_proof: bool,
    /// How often the sweeper looks for rows that are due.
    pub sweep_every: Duration,
    /// How long the sweeper waits for a ring to be answered before the next.
    pub ring_patience: Duration,
}
