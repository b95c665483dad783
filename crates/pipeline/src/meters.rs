//! Metrics. Every label value is a word from a closed list or a configured name. Text
//! from a mail (an address, a subject, a code, a URL) never becomes a label.

mod label;
mod tasks;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

pub use label::SourceLabel;
use label::{
    OfArtifact, OfAttempt, OfCallback, OfConsume, OfKind, OfLayer, OfNotifier, OfProof, OfRequest,
    OfSource,
};
pub use tasks::Tasks;

/// All metrics of the process. Clones share the same counters.
#[derive(Clone, Debug)]
pub struct Meters {
    /// From the first byte of a post to its answer.
    pub ack_seconds: Histogram,
    /// How many deliveries one commit recorded.
    pub commit_batch: Histogram,
    /// 1 while the queue is unavailable and workers look for deliveries in the
    /// database.
    pub queue_unavailable: Gauge,
    /// The long-lived tasks: their restarts and rounds.
    pub tasks: Tasks,
    /// From claim to finish.
    pub process_seconds: Histogram,
    /// Deliveries that are recorded and not finished.
    pub unfinished: Gauge,
    /// Age of the oldest unfinished delivery, in seconds.
    pub lag_seconds: Gauge,
    /// How long the delivery that is due for longest has waited for a worker, in seconds.
    pub overdue_seconds: Gauge,
    /// Deliveries that were given up.
    pub dead_letters: Gauge,
    /// Requests of agents that wait for mail now.
    pub waiting: Gauge,
    /// How overdue the last wiped or deleted item was, in seconds.
    pub wipe_lag_seconds: Gauge,
    /// The time between the two paths, webhook and polling, delivering the same
    /// message.
    pub path_lag_seconds: Histogram,
    deliveries: Family<OfSource, Counter>,
    duplicates: Family<OfLayer, Counter>,
    notifications: Family<OfNotifier, Counter>,
    processed: Family<OfSource, Counter>,
    artifacts: Family<OfArtifact, Counter>,
    attempts: Family<OfAttempt, Counter>,
    consumes: Family<OfConsume, Counter>,
    callbacks: Family<OfCallback, Counter>,
    sends_proven: Family<OfProof, Counter>,
    wiped: Family<OfKind, Counter>,
    stored_bytes: Family<OfKind, Gauge>,
    recovered: Family<SourceLabel, Counter>,
    requests: Family<OfRequest, Histogram, fn() -> Histogram>,
}

const SECONDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0,
];
/// Requests that wait for mail take up to a minute.
const REQUESTS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 25.0, 60.0];
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
            notifications: Family::default(),
            queue_unavailable: Gauge::default(),
            tasks: Tasks::default(),
            processed: Family::default(),
            process_seconds: Histogram::new(SECONDS),
            artifacts: Family::default(),
            attempts: Family::default(),
            consumes: Family::default(),
            callbacks: Family::default(),
            sends_proven: Family::default(),
            unfinished: Gauge::default(),
            lag_seconds: Gauge::default(),
            overdue_seconds: Gauge::default(),
            dead_letters: Gauge::default(),
            waiting: Gauge::default(),
            wiped: Family::default(),
            wipe_lag_seconds: Gauge::default(),
            stored_bytes: Family::default(),
            recovered: Family::default(),
            path_lag_seconds: Histogram::new(LAGS),
            requests: Family::new_with_constructor(|| Histogram::new(REQUESTS)),
        };
        let registry = registry.sub_registry_with_prefix("maillatch");
        meters.describe_mail(registry);
        meters.describe_work(registry);
        meters.describe_agents(registry);
        meters.describe_retention(registry);
        meters.tasks.register(registry);
        meters
    }

    /// Posts to a webhook, by source and answer.
    pub fn deliveries(&self, source: &str, outcome: &str) -> Counter {
        self.deliveries.get_or_create_owned(&OfSource {
            source: source.to_owned(),
            outcome: outcome.to_owned(),
        })
    }

    /// Duplicates, by the layer that dropped them.
    pub fn duplicates(&self, layer: &'static str) -> Counter {
        self.duplicates.get_or_create_owned(&OfLayer { layer })
    }

    /// Notifications of workers, by the task that sent them and the outcome.
    pub fn notifications(&self, task: &'static str, outcome: &'static str) -> Counter {
        let label = OfNotifier { task, outcome };
        self.notifications.get_or_create_owned(&label)
    }

    /// Processed deliveries, by source and outcome.
    pub fn processed(&self, source: &str, outcome: &str) -> Counter {
        self.processed.get_or_create_owned(&OfSource {
            source: source.to_owned(),
            outcome: outcome.to_owned(),
        })
    }

    /// Sends that were proven from outside, by what proved them and their state before.
    pub fn sends_proven(&self, by: &'static str, before: &'static str) -> Counter {
        let label = OfProof { by, before };
        self.sends_proven.get_or_create_owned(&label)
    }

    /// Artifacts, by kind and verdict.
    pub fn artifacts(&self, kind: &'static str, verdict: &'static str) -> Counter {
        let label = OfArtifact { kind, verdict };
        self.artifacts.get_or_create_owned(&label)
    }

    /// Attempts, by what happened to them. An attempt is counted when it is `opened`, with
    /// each mail (`ready`, `blocked`, `no_artifact`), and when it is finished.
    pub fn attempts(&self, outcome: &'static str) -> Counter {
        self.attempts.get_or_create_owned(&OfAttempt { outcome })
    }

    /// Consume requests, by the way (`attempt`, `artifact`) and the outcome.
    pub fn consumes(&self, way: &'static str, outcome: &'static str) -> Counter {
        let label = OfConsume { way, outcome };
        self.consumes.get_or_create_owned(&label)
    }

    /// Posts to a callback, by its name and the outcome.
    pub fn callbacks(&self, callback: &str, outcome: &'static str) -> Counter {
        self.callbacks.get_or_create_owned(&OfCallback {
            callback: callback.to_owned(),
            outcome,
        })
    }

    /// What was wiped or deleted because its retention time was over, by kind.
    pub fn wiped(&self, kind: &'static str) -> Counter {
        self.wiped.get_or_create_owned(&OfKind { kind })
    }

    /// Sets the bytes of stored bodies, as the quota counts them: of `unfinished` or of
    /// `finished` deliveries.
    pub fn set_stored(&self, kind: &'static str, bytes: u64) {
        let gauge = self.stored_bytes.get_or_create_owned(&OfKind { kind });
        gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Messages that polling found before a webhook delivered them.
    pub fn recovered(&self, source: &str) -> Counter {
        self.recovered
            .get_or_create_owned(&SourceLabel::new(source))
    }

    /// How long requests to the agents' API take, waits included. `route` is the pattern of
    /// the path, without the ids in it.
    pub fn requests(&self, route: &str, method: &str, status: u16) -> Histogram {
        self.requests.get_or_create_owned(&OfRequest {
            route: route.to_owned(),
            method: method.to_owned(),
            status,
        })
    }

    fn describe_mail(&self, registry: &mut Registry) {
        let m = self.clone();
        let help = "Posts of providers, by source and answer";
        registry.register("deliveries", help, m.deliveries);
        let help = "Time from the first byte of a post to its answer";
        registry.register_with_unit("ack_duration", help, Unit::Seconds, m.ack_seconds);
        let help = "How many deliveries one commit recorded";
        registry.register("commit_batch", help, m.commit_batch);
        let help = "Duplicates that were dropped, by layer";
        registry.register("dedupe_hits", help, m.duplicates);
        let help = "Messages that polling found before a post announced them, by source";
        registry.register("poll_recovered", help, m.recovered);
        let help = "Time between the webhook and polling reporting the same message";
        registry.register_with_unit("path_lag", help, Unit::Seconds, m.path_lag_seconds);
    }

    fn describe_work(&self, registry: &mut Registry) {
        let m = self.clone();
        let help = "Notifications sent to workers, by the task that sent them and outcome";
        registry.register("notifications", help, m.notifications);
        let help = "1 while the queue is unavailable and workers look into the database";
        registry.register("queue_unavailable", help, m.queue_unavailable);
        let help = "Processed deliveries, by source and outcome";
        registry.register("processed", help, m.processed);
        let help = "Time from the claim of a delivery to its end";
        registry.register_with_unit("process_duration", help, Unit::Seconds, m.process_seconds);
        let help = "Codes and links that were found in mails, by kind and verdict";
        registry.register("artifacts", help, m.artifacts);
        let help = "Posts to callbacks, by callback and outcome";
        registry.register("callbacks", help, m.callbacks);
        let help = "Deliveries that are recorded and not finished";
        registry.register("queue_depth", help, m.unfinished);
        let help = "Age of the oldest unfinished delivery";
        registry.register_with_unit("queue_lag", help, Unit::Seconds, m.lag_seconds);
        let help = "How long the most overdue delivery has waited for a worker";
        registry.register_with_unit("queue_overdue", help, Unit::Seconds, m.overdue_seconds);
        let help = "Deliveries that were given up";
        registry.register("dead_letters", help, m.dead_letters);
    }

    fn describe_agents(&self, registry: &mut Registry) {
        let m = self.clone();
        let help = "Attempts, by what happened to them: opened, a mail, finished";
        registry.register("attempts", help, m.attempts);
        let help = "Requests to consume a value, by way and outcome";
        registry.register("artifacts_consumed", help, m.consumes);
        let help = "Sends that a copy or an event proved, by their state before";
        registry.register("send_proven", help, m.sends_proven);
        let help = "Requests of agents that wait for mail now";
        registry.register("waiting", help, m.waiting);
        let help = "Duration of requests to the agents' API, waits included";
        registry.register_with_unit("request_duration", help, Unit::Seconds, m.requests);
    }

    fn describe_retention(&self, registry: &mut Registry) {
        let m = self.clone();
        let help = "Rows and values deleted by retention, by kind";
        registry.register("wiped", help, m.wiped);
        let help = "How overdue the last deleted item was";
        registry.register_with_unit("wipe_lag", help, Unit::Seconds, m.wipe_lag_seconds);
        let help = "Stored bodies of unfinished and of finished deliveries, by kind";
        registry.register_with_unit("stored", help, Unit::Bytes, m.stored_bytes);
    }
}
