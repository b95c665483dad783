//! Why there is no value to print. "Timed out" alone would not help.

use std::process::ExitCode;
use std::time::Duration;

use pipeline::{GIVEN_TO_ANOTHER_ATTEMPT, InboxId, Reason};

use super::exit;
use client::{Item, Kind, State};

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
    GivenAway {
        /// The other attempt, if the server named it.
        attempt: Option<String>,
    },
    /// A value arrived and expired before it could be consumed.
    Expired,
    /// Mail may have arrived, and a part of the server does not process it.
    Unhealthy {
        /// Which part.
        component: Option<String>,
    },
}

static GIVEN: Reason = GIVEN_TO_ANOTHER_ATTEMPT;
const OTHER_SENDER: &str = "sender_not_allowed";
const UNPROVEN_SENDER: &str = "sender_not_verified";

impl Miss {
    /// What an unavailable item means for a wait for `kind`.
    pub(super) fn of(item: &Item, kind: Kind) -> Self {
        match item.state {
            State::Withheld if item.kind == kind => Self::Withheld {
                reason: item.reason.clone(),
            },
            State::Consumed if item.kind == kind => Self::AlreadyConsumed {
                at: item.consumed_at.clone(),
            },
            _ => Self::NoArtifact {
                reason: item.reason.clone(),
            },
        }
    }

    /// A value is there, but its sender is not proven.
    pub(super) fn unverified() -> Self {
        Self::Withheld {
            reason: Some(UNPROVEN_SENDER.to_owned()),
        }
    }

    /// A value is there, but its sender is of another domain.
    pub(super) fn other_sender() -> Self {
        Self::Withheld {
            reason: Some(OTHER_SENDER.to_owned()),
        }
    }

    /// Its name in JSON.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::NothingArrived => "nothing_arrived",
            Self::NoArtifact { .. } | Self::GivenAway { .. } => "no_artifact",
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
            Self::GivenAway { .. } => Some(GIVEN.as_str()),
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

    /// The other attempt that got the value.
    pub(super) fn attempt(&self) -> Option<&str> {
        match self {
            Self::GivenAway { attempt } => attempt.as_deref(),
            _ => None,
        }
    }

    /// The exit code.
    pub(super) fn exit(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::NothingArrived => exit::NOTHING_ARRIVED,
            Self::NoArtifact { .. } | Self::GivenAway { .. } => exit::NO_ARTIFACT,
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
            Self::GivenAway { attempt } => format!(
                "a {wanted} arrived and belongs to another attempt on this inbox{because}; {}, or \
                 use a separate address: maillatch attempt new",
                match attempt {
                    Some(id) => format!("consume it with: maillatch attempt consume {id}"),
                    None =>
                        "finish that attempt and request another mail from the sender".to_owned(),
                }
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

/// The explanations seen so far. What arrived during the wait explains more than what
/// had arrived before it.
#[derive(Debug, Default)]
pub(super) struct Explanations {
    before: Option<Miss>,
    during: Option<Miss>,
}

impl Explanations {
    /// Records an item that is not available.
    pub(super) fn add(&mut self, miss: Miss, is_new: bool) {
        let kept = if is_new {
            &mut self.during
        } else {
            &mut self.before
        };
        // Keep the newest of the most specific explanations.
        if miss != Miss::NothingArrived
            && kept.as_ref().is_none_or(|kept| rank(kept) <= rank(&miss))
        {
            *kept = Some(miss);
        }
    }

    /// The best explanation.
    pub(super) fn best(self) -> Miss {
        self.during.or(self.before).unwrap_or(Miss::NothingArrived)
    }
}

fn rank(miss: &Miss) -> u8 {
    match miss {
        Miss::NothingArrived => 0,
        Miss::NoArtifact { .. } => 1,
        Miss::Expired => 2,
        Miss::AlreadyConsumed { .. } => 3,
        Miss::Withheld { .. } => 4,
        Miss::GivenAway { .. } => 5,
        Miss::Unhealthy { .. } => 6,
    }
}
