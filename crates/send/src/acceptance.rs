//! What is known after a mail was handed to a provider.

use std::time::Duration;

use pipeline::Reason;

/// Whether a provider accepted a mail. Each sender turns every possible answer, and the
/// lack of one, into one of these four. An answer that it does not know is [`Maybe`]:
/// a second mail is worse than a send that waits for an operator.
///
/// [`Maybe`]: Acceptance::Maybe
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Acceptance {
    /// The provider accepted it, now or at an earlier try with the same key.
    Sent {
        /// The provider's own id of the mail; empty when it names none.
        provider_id: String,
    },
    /// It is proven that the provider did not accept it, and it may be tried again.
    NotSent(NotSent),
    /// The provider refused this mail for good.
    Refused {
        /// Why.
        reason: Reason,
    },
    /// It is unknown whether the provider accepted it.
    Maybe {
        /// Why.
        reason: Reason,
    },
}

/// A mail that was provably not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotSent {
    /// Why.
    pub(crate) reason: Reason,
    /// How long the provider asked to wait.
    pub(crate) wait: Option<Duration>,
    /// Whether every other mail of this sender would fail too, such as with a revoked
    /// key. The sender is paused then.
    pub(crate) concerns_sender: bool,
}

impl Acceptance {
    /// Accepted under this id.
    pub(crate) fn sent(provider_id: impl Into<String>) -> Self {
        Self::Sent {
            provider_id: provider_id.into(),
        }
    }

    /// The meaning of a success: accepted under the id that the answer names. A success
    /// without an id proves nothing.
    pub(crate) fn with_id(provider_id: Option<String>) -> Self {
        provider_id.map_or_else(|| Self::maybe("unreadable_answer"), Self::sent)
    }

    /// Not accepted; this mail alone is tried again.
    pub(crate) fn not_sent(reason: &'static str, wait: Option<Duration>) -> Self {
        Self::NotSent(NotSent {
            reason: Reason::new(reason),
            wait,
            concerns_sender: false,
        })
    }

    /// Not accepted, as no other mail of this sender would be.
    pub(crate) fn sender_unfit(reason: &'static str) -> Self {
        Self::NotSent(NotSent {
            reason: Reason::new(reason),
            wait: None,
            concerns_sender: true,
        })
    }

    /// Refused for good.
    pub(crate) fn refused(reason: &'static str) -> Self {
        Self::Refused {
            reason: Reason::new(reason),
        }
    }

    /// Unknown.
    pub(crate) fn maybe(reason: &'static str) -> Self {
        Self::Maybe {
            reason: Reason::new(reason),
        }
    }
}

/// What a provider says when it is asked for a mail that it may have accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// It has the mail, under this id.
    Sent {
        /// The provider's own id of the mail.
        provider_id: String,
    },
    /// It does not show the mail. This proves nothing: no provider says how soon an
    /// accepted mail can be found.
    Absent,
    /// It cannot be asked, or gave no usable answer.
    Unknown,
}
