//! The labels of the metrics, named by what they are. Every value is a word from a closed
//! list or a configured name.

use prometheus_client::encoding::EncodeLabelSet;

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

/// A source, and what became of its post or delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfSource {
    pub(super) source: String,
    pub(super) outcome: String,
}

/// The layer that dropped a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfLayer {
    pub(super) layer: &'static str,
}

/// The task that notified workers, and what became of that.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfNotifier {
    pub(super) task: &'static str,
    pub(super) outcome: &'static str,
}

/// What proved that a send was accepted, and its state before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfProof {
    pub(super) by: &'static str,
    pub(super) before: &'static str,
}

/// The kind of an artifact, and the verdict on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfArtifact {
    pub(super) kind: &'static str,
    pub(super) verdict: &'static str,
}

/// The way of a consume, as the audit names it, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfConsume {
    pub(super) way: &'static str,
    pub(super) outcome: &'static str,
}

/// The configured name of a callback, and what became of a post to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfCallback {
    pub(super) callback: String,
    pub(super) outcome: &'static str,
}

/// What happened to an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfAttempt {
    pub(super) outcome: &'static str,
}

/// The kind of what is stored or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfKind {
    pub(super) kind: &'static str,
}

/// A request to the agents' API: the pattern of its route, and the status of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfRequest {
    pub(super) route: String,
    pub(super) method: String,
    pub(super) status: u16,
}

/// A long-lived task: a word from a closed list, and for some the name of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfTask {
    pub(super) task: String,
}
