//! An id of any kind that an operator may look up.

use std::str::FromStr;

use pipeline::{AttemptId, CallbackId, TracedId};

/// An id of any kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum AnyId {
    /// A delivery, a message or an artifact.
    Traced(TracedId),
    Callback(CallbackId),
    Attempt(AttemptId),
}

impl FromStr for AnyId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let traced = [
            text.parse().ok().map(TracedId::Delivery),
            text.parse().ok().map(TracedId::Message),
            text.parse().ok().map(TracedId::Artifact),
        ];
        let traced = traced.into_iter().flatten().next().map(Self::Traced);
        let callback = || text.parse().ok().map(Self::Callback);
        let attempt = || text.parse().ok().map(Self::Attempt);
        let id = traced.or_else(callback).or_else(attempt);
        id.ok_or_else(|| {
            "not an id: `dlv_…` is a delivery, `cbk_…` a callback, `msg_…` a message, `art_…` an \
             artifact and `att_…` an attempt"
                .to_owned()
        })
    }
}
