//! The poller's metrics. Labels are configured names and fixed words.

use pipeline::SourceLabel;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// One round of polling.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Round {
    pub(crate) source: String,
    /// Why the source was polled: `waiting`, `routine` or `announced`.
    pub(crate) cause: &'static str,
    /// The outcome: `done`, `continued`, `lost`, `database_unavailable`, or the
    /// reason of a failure.
    pub(crate) outcome: String,
}

/// A mail that was listed and not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Skipped {
    pub(crate) source: String,
    /// `gone` or `too_large`.
    pub(crate) reason: &'static str,
}

/// The poller's metrics.
#[derive(Debug, Clone)]
pub struct Meters {
    pub(crate) rounds: Family<Round, Counter>,
    pub(crate) found: Family<SourceLabel, Counter>,
    pub(crate) skipped: Family<Skipped, Counter>,
    pub(crate) ahead: Family<SourceLabel, Counter>,
    pub(crate) failing: Family<SourceLabel, Gauge>,
    pub(crate) silent: Family<SourceLabel, Gauge>,
}

impl Meters {
    /// Registers the metrics, all at zero.
    pub fn register(registry: &mut Registry) -> Self {
        let meters = Self {
            rounds: Family::default(),
            found: Family::default(),
            skipped: Family::default(),
            ahead: Family::default(),
            failing: Family::default(),
            silent: Family::default(),
        };
        let m = meters.clone();
        let registry = registry.sub_registry_with_prefix("maillatch");
        registry.register(
            "polls",
            "Rounds of polling, by source, cause and outcome",
            m.rounds,
        );
        let help = "Deliveries that polling recorded, by source";
        registry.register("poll_found", help, m.found);
        registry.register(
            "poll_skipped",
            "Listed mails that were not recorded, by source and reason",
            m.skipped,
        );
        registry.register(
            "poll_ahead",
            "Mails whose arrival time is ahead of this machine's clock, by source",
            m.ahead,
        );
        registry.register(
            "poll_failing",
            "1 while a source cannot be polled, by source",
            m.failing,
        );
        registry.register(
            "source_silent",
            "1 while a source has not posted for much longer than usual, by source",
            m.silent,
        );
        meters
    }
}
