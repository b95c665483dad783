//! What is counted. Labels are closed words of ours: an address, a subject, a
//! code or a URL cannot become one, because no label takes text from a mail.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// One event of a part, by what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// The source's configured name, or another closed word.
    pub of: String,
    /// What came of it.
    pub outcome: String,
}

impl OutcomeLabel {
    /// A label pair.
    pub fn new(of: &str, outcome: &str) -> Self {
        Self {
            of: of.to_owned(),
            outcome: outcome.to_owned(),
        }
    }
}

/// A source, by its configured name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct SourceLabel {
    /// The name.
    pub source: String,
}

impl SourceLabel {
    /// The label of a source.
    pub fn new(source: &str) -> Self {
        let source = source.to_owned();
        Self { source }
    }
}

/// A kind of thing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabel {
    /// A closed word.
    pub what: &'static str,
}

/// Every meter of the process; cloned handles count into the same place.
#[derive(Clone, Debug)]
pub struct Meters {
    /// Posts to a webhook, by source and answer.
    pub deliveries: Family<OutcomeLabel, Counter>,
    /// From the first byte of a post to its answer.
    pub ack_seconds: Histogram,
    /// How many deliveries one commit recorded.
    pub commit_batch: Histogram,
    /// Duplicates, by the layer that collapsed them.
    pub duplicates: Family<OutcomeLabel, Counter>,
    /// Rings of the bell, by who rang and whether it was heard.
    pub rings: Family<OutcomeLabel, Counter>,
    /// Processed deliveries, by source and what came of them.
    pub processed: Family<OutcomeLabel, Counter>,
    /// From claim to finish.
    pub process_seconds: Histogram,
    /// Artifacts, by kind and verdict.
    pub artifacts: Family<OutcomeLabel, Counter>,
    /// Consume requests, by what came of them.
    pub consumes: Family<OutcomeLabel, Counter>,
    /// Tries to tell a callback, by its name and what came of them.
    pub callbacks: Family<OutcomeLabel, Counter>,
    /// Deliveries that are recorded and not finished.
    pub unfinished: Gauge,
    /// Age of the oldest unfinished delivery, in seconds.
    pub lag_seconds: Gauge,
    /// How long the longest due delivery has waited for a worker, in seconds.
    pub overdue_seconds: Gauge,
    /// Deliveries that were given up.
    pub dead_letters: Gauge,
    /// Waits that agents have open right now.
    pub waiting: Gauge,
    /// What was wiped or discarded because its time was over.
    pub wiped: Family<KindLabel, Counter>,
    /// By how much the latest of it was overdue, in seconds.
    pub wipe_lag_seconds: Gauge,
    /// Messages that polling has found before any post told of them.
    pub poll_recovered: Family<SourceLabel, Counter>,
    /// How much later than the first path, webhook or polling, the other one
    /// told of a message.
    pub path_lag_seconds: Histogram,
}

const SECONDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0,
];
const LAGS: [f64; 10] = [
    0.1, 1.0, 5.0, 20.0, 60.0, 300.0, 600.0, 3600.0, 21_600.0, 86_400.0,
];
const BATCHES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

impl Meters {
    /// New meters, all at zero, known to `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let meters = Self {
            deliveries: Family::default(),
            ack_seconds: Histogram::new(SECONDS),
            commit_batch: Histogram::new(BATCHES),
            duplicates: Family::default(),
            rings: Family::default(),
            processed: Family::default(),
            process_seconds: Histogram::new(SECONDS),
            artifacts: Family::default(),
            consumes: Family::default(),
            callbacks: Family::default(),
            unfinished: Gauge::default(),
            lag_seconds: Gauge::default(),
            overdue_seconds: Gauge::default(),
            dead_letters: Gauge::default(),
            waiting: Gauge::default(),
            wiped: Family::default(),
            wipe_lag_seconds: Gauge::default(),
            poll_recovered: Family::default(),
            path_lag_seconds: Histogram::new(LAGS),
        };
        let registry = registry.sub_registry_with_prefix("maillatch");
        meters.describe(registry);
        meters.describe_wiping(registry);
        meters
    }

    fn describe_wiping(&self, registry: &mut Registry) {
        let wiped = self.wiped.clone();
        registry.register("wiped", "What was wiped or discarded, by kind", wiped);
        registry.register_with_unit(
            "wipe_lag",
            "How overdue the latest of it was",
            Unit::Seconds,
            self.wipe_lag_seconds.clone(),
        );
    }

    fn describe(&self, registry: &mut Registry) {
        let m = self.clone();
        registry.register("deliveries", "Posts by source and answer", m.deliveries);
        registry.register_with_unit(
            "ack_duration",
            "First byte to answer",
            Unit::Seconds,
            m.ack_seconds,
        );
        registry.register("commit_batch", "Deliveries per commit", m.commit_batch);
        registry.register("dedupe_hits", "Duplicates by layer", m.duplicates);
        registry.register("rings", "Rings by ringer and outcome", m.rings);
        registry.register("processed", "Deliveries by source and outcome", m.processed);
        registry.register_with_unit(
            "process_duration",
            "Claim to finish",
            Unit::Seconds,
            m.process_seconds,
        );
        registry.register("artifacts", "Artifacts by kind and verdict", m.artifacts);
        registry.register(
            "artifacts_consumed",
            "Consume requests by outcome",
            m.consumes,
        );
        registry.register("callbacks", "Tries by callback and outcome", m.callbacks);
        registry.register("queue_depth", "Unfinished deliveries", m.unfinished);
        registry.register_with_unit(
            "queue_lag",
            "Age of the oldest unfinished",
            Unit::Seconds,
            m.lag_seconds,
        );
        registry.register_with_unit(
            "queue_overdue",
            "Wait of the longest due for a worker",
            Unit::Seconds,
            m.overdue_seconds,
        );
        registry.register("buried", "Deliveries given up", m.dead_letters);
        registry.register("waiting", "Open waits of agents", m.waiting);
        registry.register(
            "poll_recovered",
            "Messages found by polling first",
            m.poll_recovered,
        );
        registry.register_with_unit(
            "path_lag",
            "From the first path to the other",
            Unit::Seconds,
            m.path_lag_seconds,
        );
    }
}
