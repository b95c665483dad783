//! Why there is no value to print. "Timed out" alone would not help.

use std::process::ExitCode;
use std::time::Duration;

use pipeline::{ALREADY_CONSUMED, GIVEN_TO_ANOTHER_ATTEMPT, InboxId, Reason};

use super::exit;
use client::{Attempt, Kind};

/// Why a wait ended without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Miss {
    /// No mail arrived that could belong to this wait.
    NothingArrived,
    /// Mail arrived without a value of the wanted kind.
    NoArtifact {
        /// The reason, if the server gave one.
        reason: Option<String>,
    },
    /// A value arrived and somebody consumed it.
    AlreadyConsumed {
        /// When, in RFC 3339.
        at: Option<String>,
    },
    /// A value arrived and is withheld.
    Withheld {
        /// The reason.
        reason: Option<String>,
    },
    /// A value arrived and belongs to another attempt on the same inbox.
    GivenAway,
    /// A value arrived and expired before it could be consumed.
    Expired,
    /// Mail may have arrived, and a part of the server does not process it.
    Unhealthy {
        /// Which part.
        component: Option<String>,
    },
}

static GIVEN: Reason = GIVEN_TO_ANOTHER_ATTEMPT;
static CONSUMED: Reason = ALREADY_CONSUMED;
const OTHER_SENDER: &str = "sender_not_allowed";
const UNPROVEN_SENDER: &str = "sender_not_verified";

impl Miss {
    /// What the state of an attempt without a value means at the end of a wait, if it says
    /// more than that nothing arrived.
    pub(super) fn of(attempt: &Attempt) -> Option<Self> {
        let reason = attempt.reason.clone();
        let word = reason.as_deref();
        match attempt.state.as_str() {
            "unhealthy" => Some(Self::Unhealthy {
                component: attempt.component.clone(),
            }),
            "blocked" => Some(Self::Withheld { reason }),
            "no_artifact" if word == Some(GIVEN.as_str()) => Some(Self::GivenAway),
            "no_artifact" if word == Some(CONSUMED.as_str()) => {
                Some(Self::AlreadyConsumed { at: None })
            }
            "no_artifact" => Some(Self::NoArtifact { reason }),
            "expired" if attempt.received_at.is_some() => Some(Self::Expired),
            _ => None,
        }
    }

    /// What the wait's own attempt says after its end. An open attempt does not say that a
    /// mail went to another one: its own may still arrive.
    pub(super) fn of_ended(finished: Option<&Attempt>) -> Self {
        finished.and_then(Self::of).unwrap_or(Self::NothingArrived)
    }

    /// Its name in JSON.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::NothingArrived => "nothing_arrived",
            Self::NoArtifact { .. } | Self::GivenAway => "no_artifact",
            Self::AlreadyConsumed { .. } => "already_consumed",
            Self::Withheld { .. } => "withheld",
            Self::Expired => "expired",
            Self::Unhealthy { .. } => "unhealthy",
        }
    }

    /// The reason, if there is one.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::NoArtifact { reason } | Self::Withheld { reason } => reason.as_deref(),
            Self::GivenAway => Some(GIVEN.as_str()),
            Self::NothingArrived
            | Self::AlreadyConsumed { .. }
            | Self::Expired
            | Self::Unhealthy { .. } => None,
        }
    }

    /// The part of the server that is unhealthy.
    pub(super) fn component(&self) -> Option<&str> {
        match self {
            Self::Unhealthy { component } => component.as_deref(),
            _ => None,
        }
    }

    /// The exit code.
    pub(super) fn exit(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::NothingArrived => exit::NOTHING_ARRIVED,
            Self::NoArtifact { .. } | Self::GivenAway => exit::NO_ARTIFACT,
            Self::AlreadyConsumed { .. } => exit::ALREADY_CONSUMED,
            Self::Withheld { .. } => exit::WITHHELD,
            Self::Expired => exit::EXPIRED,
            Self::Unhealthy { .. } => exit::UNREACHABLE,
        })
    }

    /// What was waited for and how long, what arrived, and what to do next.
    pub(super) fn explain(&self, kind: Kind, inbox: &InboxId, time: Duration) -> String {
        let what = self.what_arrived(kind.as_str());
        format!("waited {time:?} for a {} at {inbox}: {what}", kind.as_str())
    }

    fn what_arrived(&self, wanted: &str) -> String {
        let because = self.reason().map(|reason| format!(" ({reason})"));
        let because = because.unwrap_or_default();
        match self {
            Self::NothingArrived => {
                "no mail arrived; check that it was sent to this inbox".to_owned()
            }
            Self::NoArtifact { .. } => format!(
                "mail arrived, but no {wanted} in it is safe to give out{because}; request another \
                 mail from its sender"
            ),
            Self::AlreadyConsumed { at } => format!(
                "the newest {wanted} was already consumed{}, and older ones are stale; request \
                 another mail from its sender",
                at.as_ref()
                    .map(|at| format!(", at {at}"))
                    .unwrap_or_default()
            ),
            Self::Withheld { reason } => format!(
                "a {wanted} arrived but is withheld{because}; {}",
                match reason.as_deref() {
                    Some(OTHER_SENDER) => "its sender has another domain than --from-domain",
                    Some(UNPROVEN_SENDER) => "nothing proves who its sender is",
                    _ => "the operator's allowlist does not allow it",
                }
            ),
            Self::GivenAway => format!(
                "a {wanted} arrived and belongs to another attempt on this inbox{because}; finish \
                 that attempt and request another mail from the sender, or use a separate address: \
                 maillatch attempt new"
            ),
            Self::Expired => format!(
                "a {wanted} arrived and expired before it could be consumed; request another mail \
                 from its sender"
            ),
            Self::Unhealthy { component } => format!(
                "mail waits to be processed, and the {} is unhealthy; tell the operator",
                component.as_deref().unwrap_or("server")
            ),
        }
    }
}
