//! Why there is nothing to print. "Timed out" alone helps nobody.

use std::process::ExitCode;
use std::time::Duration;

use pipeline::{GIVEN_TO_ANOTHER_ATTEMPT, InboxId, Reason};

use super::exit;
use crate::client::{Item, Kind, State};

/// Why a wait ended without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Miss {
    /// No mail that counts arrived.
    NothingArrived,
    /// Mail arrived, and nothing of the wanted kind was in it.
    NoArtifact {
        /// The slug of why, if it was said.
        reason: Option<String>,
    },
    /// One arrived and was consumed by somebody.
    AlreadyConsumed {
        /// When, as RFC 3339 has it.
        at: Option<String>,
    },
    /// One arrived and is kept back.
    Withheld {
        /// The slug of the rule that decided.
        reason: Option<String>,
    },
    /// One arrived and is for another attempt that waits on the same inbox.
    GivenAway {
        /// Which, if it was said.
        attempt: Option<String>,
    },
    /// One arrived and its time was over before it could be consumed.
    Expired,
    /// Mail may have arrived, and a part of the server does not get on with it.
    Unhealthy {
        /// Which part.
        component: Option<String>,
    },
}

static GIVEN: Reason = GIVEN_TO_ANOTHER_ATTEMPT;
const OTHER_SENDER: &str = "sender_not_allowed";
const UNPROVEN_SENDER: &str = "sender_not_verified";

impl Miss {
    /// What an item that cannot be had says about the wait for `kind`.
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

    /// One is there whose sender is not proven.
    pub(super) fn unverified() -> Self {
        Self::Withheld {
            reason: Some(UNPROVEN_SENDER.to_owned()),
        }
    }

    /// One is there whose sender is not of the wanted domain.
    pub(super) fn other_sender() -> Self {
        Self::Withheld {
            reason: Some(OTHER_SENDER.to_owned()),
        }
    }

    /// The word for it in JSON.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::NothingArrived => "nothing_arrived",
            Self::NoArtifact { .. } | Self::GivenAway { .. } => "no_artifact",
            Self::AlreadyConsumed { .. } => "already_consumed",
            Self::Withheld { .. } => "withheld",
            Self::Expired => "expired",
            Self::Unhealthy { .. } => "unhealthy",
        }
    }

    /// The slug of the rule that decided, if one did.
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

    /// Which part of the server is not well, and which attempt has it.
    pub(super) fn whose(&self) -> [Option<&str>; 2] {
        match self {
            Self::Unhealthy { component } => [component.as_deref(), None],
            Self::GivenAway { attempt } => [None, attempt.as_deref()],
            _ => [None, None],
        }
    }

    /// What the process ends with.
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

    /// What was waited for and how long, what came, and what to do next.
    pub(super) fn explain(&self, kind: Kind, inbox: &InboxId, time: Duration) -> String {
        let came = self.came(kind.as_str());
        format!("waited {time:?} for a {} at {inbox}: {came}", kind.as_str())
    }

    fn came(&self, wanted: &str) -> String {
        let because = self.reason().map(|reason| format!(" ({reason})"));
        let because = because.unwrap_or_default();
        match self {
            Self::NothingArrived => {
                "no mail arrived; check that it was sent to this inbox".to_owned()
            }
            Self::NoArtifact { .. } => format!(
                "mail arrived, and no {wanted} that is safe to give out was in it{because}; ask \
                 its sender for another"
            ),
            Self::AlreadyConsumed { at } => format!(
                "the newest {wanted} was consumed before{}, and no older one is given out; ask its \
                 sender for another",
                at.as_ref()
                    .map(|at| format!(", at {at}"))
                    .unwrap_or_default()
            ),
            Self::Withheld { reason } => format!(
                "a {wanted} arrived and is withheld{because}; {}",
                match reason.as_deref() {
                    Some(OTHER_SENDER) => "its sender is of another domain than --from-domain",
                    Some(UNPROVEN_SENDER) => "nothing proves who its sender is",
                    _ => "the operator's allowlist decides",
                }
            ),
            Self::GivenAway { attempt } => format!(
                "a {wanted} arrived and is for another attempt that waits on this inbox{because}; \
                 {}, or use an address of its own: maillatch attempt new",
                match attempt {
                    Some(id) => format!("take it with: maillatch attempt consume {id}"),
                    None => "end that one and ask the sender for another".to_owned(),
                }
            ),
            Self::Expired => format!(
                "a {wanted} arrived and its time was over before it could be consumed; ask its \
                 sender for another"
            ),
            Self::Unhealthy { component } => format!(
                "mail waits to be processed, and the {} does not get on with it; tell the operator",
                component.as_deref().unwrap_or("server")
            ),
        }
    }
}

/// What was seen on the way: what came during the wait says more than what had
/// come before it.
#[derive(Debug, Default)]
pub(super) struct Sight {
    before: Option<Miss>,
    during: Option<Miss>,
}

impl Sight {
    /// Notes an item that cannot be had.
    pub(super) fn note(&mut self, miss: Miss, is_new: bool) {
        let kept = if is_new {
            &mut self.during
        } else {
            &mut self.before
        };
        // The newest of those that say most; "nothing" says nothing.
        if miss != Miss::NothingArrived
            && kept.as_ref().is_none_or(|kept| rank(kept) <= rank(&miss))
        {
            *kept = Some(miss);
        }
    }

    /// The best explanation.
    pub(super) fn miss(self) -> Miss {
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
