//! Metrics of sending. Labels are configured names and fixed words.

use pipeline::{SendCount, SendState};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Label of a sender: its configured name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct SenderLabel {
    pub(crate) sender: String,
}

impl SenderLabel {
    pub(crate) fn new(sender: &str) -> Self {
        let sender = sender.to_owned();
        Self { sender }
    }
}

/// What became of a mail of a sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfSender {
    pub(crate) sender: String,
    pub(crate) outcome: &'static str,
}

/// What an uncertain send was settled by, and the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfSettlement {
    pub(crate) by: &'static str,
    pub(crate) outcome: &'static str,
}

/// What became of a reply: a fixed word.
pub(crate) type ReplyOutcome = &'static str;

/// Label of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabel {
    pub(crate) outcome: ReplyOutcome,
}

/// Label of a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StateLabel {
    pub(crate) state: &'static str,
}

/// The metrics of sending.
#[derive(Debug, Clone)]
pub struct Meters {
    pub(crate) asked: Family<OfSender, Counter>,
    pub(crate) handed_over: Family<OfSender, Counter>,
    pub(crate) settled: Family<OfSettlement, Counter>,
    replies: Family<OutcomeLabel, Counter>,
    pub(crate) threads_handed_over: Gauge,
    pub(crate) doubled: Counter,
    pub(crate) paused: Family<SenderLabel, Gauge>,
    pub(crate) state: Family<StateLabel, Gauge>,
    pub(crate) uncertain_oldest: Gauge,
    pub(crate) latency: Histogram,
}

impl Meters {
    /// Registers the metrics, all at zero.
    pub fn register(registry: &mut Registry) -> Self {
        let meters = Self {
            asked: Family::default(),
            handed_over: Family::default(),
            settled: Family::default(),
            replies: Family::default(),
            threads_handed_over: Gauge::default(),
            doubled: Counter::default(),
            paused: Family::default(),
            state: Family::default(),
            uncertain_oldest: Gauge::default(),
            latency: Histogram::new(exponential_buckets(0.005, 2.0, 14)),
        };
        let m = meters.clone();
        let registry = registry.sub_registry_with_prefix("maillatch_send");
        registry.register("asked", "Orders by sender and outcome", m.asked);
        let help = "Mails handed to providers, by sender and what the answer meant";
        registry.register("handed_over", help, m.handed_over);
        let help = "Looks at uncertain sends, by action and outcome";
        registry.register("uncertain_settled", help, m.settled);
        registry.register("replies", "Orders of replies by outcome", m.replies);
        let help = "Threads in which a person must answer";
        registry.register("threads_handed_over", help, m.threads_handed_over);
        let help = "Proofs of acceptance for sends that were settled as not sent";
        registry.register("doubled", help, m.doubled);
        registry.register("paused", "1 while a sender is paused", m.paused);
        registry.register("state", "Sends in each state", m.state);
        let help = "Age of the oldest uncertain send";
        registry.register_with_unit("uncertain_oldest", help, Unit::Seconds, m.uncertain_oldest);
        let help = "From the order to the provider's acceptance";
        registry.register_with_unit("latency", help, Unit::Seconds, m.latency);
        meters
    }

    /// Counts an order of a reply.
    pub(crate) fn count_reply(&self, outcome: ReplyOutcome) {
        let label = OutcomeLabel { outcome };
        self.replies.get_or_create(&label).inc();
    }

    /// Sets the gauges of the states.
    pub(crate) fn set_states(&self, counts: &[SendCount]) {
        for state in SendState::ALL {
            let count = counts.iter().find(|count| count.state == state);
            let count = count.map_or(0, |count| count.count);
            let label = StateLabel {
                state: state.as_str(),
            };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.state.get_or_create(&label).set(count);
        }
        let uncertain = counts
            .iter()
            .find(|count| count.state == SendState::Uncertain);
        let oldest = uncertain.map_or(0, |count| count.oldest.as_secs());
        self.uncertain_oldest
            .set(i64::try_from(oldest).unwrap_or(i64::MAX));
    }
}
