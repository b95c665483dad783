//! What an operator may set.

use std::collections::BTreeSet;
use std::time::Duration;

use extract::Policy;
use pipeline::{Backoff, InboundRule, UpstreamBackoff};

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
    /// What happens to mail before it reaches an inbox, and whether it can be answered.
    pub replies: ReplySettings,
    /// How often the sweeper looks for due deliveries.
    pub sweep_every: Duration,
    /// How long the sweeper waits before it notifies again of the same delivery.
    pub notify_again_after: Duration,
}

/// What happens to mail before it reaches an inbox, and whether it can be answered.
#[derive(Debug, Clone, Default)]
pub struct ReplySettings {
    /// The configured rules, in order.
    pub rules: Vec<InboundRule>,
    /// Whether what a reply needs is kept: there is a sender that could answer.
    pub keeps_context: bool,
    /// The addresses of the configured senders, in lower case.
    pub own_addresses: BTreeSet<String>,
}
