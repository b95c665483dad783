//! What an operator may set.

use std::time::Duration;

use extract::Policy;
use pipeline::{Backoff, UpstreamBackoff};

use crate::recipients::InboxPolicy;

/// The worker's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many deliveries are processed at once.
    pub concurrency: usize,
    /// How long a claim holds after its worker has died. A living one extends it.
    pub lease: Duration,
    /// When to retry a failed attempt and when to dead-letter the delivery.
    pub backoff: Backoff,
    /// How often and how long to retry while somebody else's server is
    /// unavailable: a provider's API, the DNS, the holder of a key.
    pub upstream_backoff: UpstreamBackoff,
    /// How long the parser may take for one mail.
    pub parse_budget: Duration,
    /// Which addresses become inboxes.
    pub inboxes: InboxPolicy,
    /// What the extractor may give out.
    pub policy: Policy,
    /// How long an artifact may be consumed after its mail was received.
    pub lifetime: Duration,
    /// Within this time the same value for the same inbox is the same artifact.
    pub same_value_window: Duration,
    /// Whether every mail is withheld unless its sender is proven.
    pub needs_proof: bool,
    /// How often the sweeper looks for due deliveries.
    pub sweep_every: Duration,
    /// How long the sweeper waits before it notifies again of the same delivery.
    pub notify_again_after: Duration,
}
