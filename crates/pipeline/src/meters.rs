//! Metrics. Every label value is a word from a closed list or a configured name. Text
//! from a mail (an address, a subject, a code, a URL) never becomes a label.

mod restarts;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

pub use restarts::Restarts;

/// Labels of an event: what it is about, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// The configured name of the source, or another word from a closed list.
    pub of: String,
    /// The outcome.
    pub outcome: String,
}

impl OutcomeLabel {
    /// The two labels.
    pub fn new(of: &str, outcome: &str) -> Self {
        Self {
            of: of.to_owned(),
            outcome: outcome.to_owned(),
        }
    }
}

/// Label of a source: its configured name.
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

/// Label of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabel {
    /// A word from a closed list.
    pub what: &'static str,
}

/// All metrics of the process. Clones share the same counters.
#[derive(Clone, Debug)]
pub struct Meters {
    /// Posts to a webhook, by source and answer.
    pub deliveries: Family<OutcomeLabel, Counter>,
    /// From the first byte of a post to its answer.
    pub ack_seconds: Histogram,
    /// How many deliveries one commit recorded.
    pub commit_batch: Histogram,
    /// Duplicates, by the layer that dropped them.
    pub duplicates: Family<OutcomeLabel, Counter>,
    /// Notifications of the queue, by sender and outcome.
    pub rings: Family<OutcomeLabel, Counter>,
    /// 1 while the queue is unavailable and workers look for deliveries in the
    /// database.
    pub doorbell_silent: Gauge,
    /// Restarts of long-lived tasks that failed.
    pub restarts: Restarts,
    /// Processed deliveries, by source and outcome.
    pub processed: Family<OutcomeLabel, Counter>,
    /// From claim to finish.
    pub process_seconds: Histogram,
    /// Artifacts, by kind and verdict.
    pub artifacts: Family<OutcomeLabel, Counter>,
    /// Consume requests, by outcome.
    pub consumes: Family<OutcomeLabel, Counter>,
    /// Tries of callbacks, by callback and outcome.
    pub callbacks: Family<OutcomeLabel, Counter>,
    /// Deliveries that are recorded and not finished.
    pub unfinished: Gauge,
    /// Age of the oldest unfinished delivery, in seconds.
    pub lag_seconds: Gauge,
    /// How long the delivery that is due for longest has waited for a worker, in seconds.
    pub overdue_seconds: Gauge,
    /// Deliveries that were given up.
    pub dead_letters: Gauge,
    /// Long polls that agents have open now.
    pub waiting: Gauge,
    /// What was wiped or deleted because its retention time was over, by kind.
    pub wiped: Family<KindLabel, Counter>,
    /// How overdue the last wiped or deleted item was, in seconds.
    pub wipe_lag_seconds: Gauge,
    /// Bytes of stored bodies, as the quota counts them: of `unfinished` and of `finished`
    /// deliveries.
    pub stored_bytes: Family<KindLabel, Gauge>,
    /// Messages that polling found before a webhook delivered them.
    pub poll_recovered: Family<SourceLabel, Counter>,
    /// The time between the two paths, webhook and polling, delivering the same
    /// message.
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
    /// New metrics, all at zero, registered with `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let meters = Self {
            deliveries: Family::default(),
            ack_seconds: Histogram::new(SECONDS),
            commit_batch: Histogram::new(BATCHES),
            duplicates: Family::default(),
            rings: Family::default(),
            doorbell_silent: Gauge::default(),
            restarts: Restarts::default(),
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
            stored_bytes: Family::default(),
            poll_recovered: Family::default(),
            path_lag_seconds: Histogram::new(LAGS),
        };
        let registry = registry.sub_registry_with_prefix("maillatch");
        meters.describe(registry);
        meters.describe_wiping(registry);
        meters.describe_faults(registry);
        meters.describe_polling(registry);
        meters
    }

    /// Sets [`Self::stored_bytes`] of a kind.
    pub fn set_stored(&self, what: &'static str, bytes: u64) {
        let gauge = self.stored_bytes.get_or_create_owned(&KindLabel { what });
        gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    fn describe_wiping(&self, registry: &mut Registry) {
        let wiped = self.wiped.clone();
        registry.register(
            "wiped",
            "Items wiped or deleted by retention, by kind",
            wiped,
        );
        registry.register_with_unit(
            "wipe_lag",
            "How overdue the last wiped item was",
            Unit::Seconds,
            self.wipe_lag_seconds.clone(),
        );
        registry.register_with_unit(
            "stored",
            "Stored bodies, of unfinished and of finished deliveries",
            Unit::Bytes,
            self.stored_bytes.clone(),
        );
    }

    fn describe_faults(&self, registry: &mut Registry) {
        registry.register(
            "doorbell_silent",
            "1 while the queue is unavailable and workers look into the database",
            self.doorbell_silent.clone(),
        );
        self.restarts.register(registry);
    }

    fn describe(&self, registry: &mut Registry) {
        let m = self.clone();
        registry.register(
            "deliveries",
            "Webhook posts by source and answer",
            m.deliveries,
        );
        registry.register_with_unit(
            "ack_duration",
            "From the first byte of a post to its answer",
            Unit::Seconds,
            m.ack_seconds,
        );
        registry.register("commit_batch", "Deliveries per commit", m.commit_batch);
        registry.register("dedupe_hits", "Duplicates by layer", m.duplicates);
        registry.register(
            "rings",
            "Queue notifications by sender and outcome",
            m.rings,
        );
        registry.register("processed", "Deliveries by source and outcome", m.processed);
        registry.register_with_unit(
            "process_duration",
            "From claim to finish of a delivery",
            Unit::Seconds,
            m.process_seconds,
        );
        registry.register("artifacts", "Artifacts by kind and verdict", m.artifacts);
        registry.register(
            "artifacts_consumed",
            "Consume requests by outcome",
            m.consumes,
        );
        registry.register(
            "callbacks",
            "Callback tries by callback and outcome",
            m.callbacks,
        );
        registry.register("queue_depth", "Unfinished deliveries", m.unfinished);
        registry.register_with_unit(
            "queue_lag",
            "Age of the oldest unfinished delivery",
            Unit::Seconds,
            m.lag_seconds,
        );
        registry.register_with_unit(
            "queue_overdue",
            "Longest time a due delivery has waited for a worker",
            Unit::Seconds,
            m.overdue_seconds,
        );
        registry.register("buried", "Dead-lettered deliveries", m.dead_letters);
        registry.register("waiting", "Open long polls of agents", m.waiting);
    }

    fn describe_polling(&self, registry: &mut Registry) {
        let m = self.clone();
        registry.register(
            "poll_recovered",
            "Messages found by polling first",
            m.poll_recovered,
        );
        registry.register_with_unit(
            "path_lag",
            "Time between webhook and polling delivering a message",
            Unit::Seconds,
            m.path_lag_seconds,
        );
    }
}
