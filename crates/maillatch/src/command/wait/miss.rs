//! Why there is nothing to print. "Timed out" alone helps nobody.

use std::process::ExitCode;
use std::time::Duration;

use pipeline::InboxId;

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
}

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
            reason: Some("sender_not_verified".to_owned()),
        }
    }

    /// The word for it in JSON.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::NothingArrived => "nothing_arrived",
            Self::NoArtifact { .. } => "no_artifact",
            Self::AlreadyConsumed { .. } => "already_consumed",
            Self::Withheld { .. } => "withheld",
        }
    }

    /// The slug of the rule that decided, if one did.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::NoArtifact { reason } | Self::Withheld { reason } => reason.as_deref(),
            Self::NothingArrived | Self::AlreadyConsumed { .. } => None,
        }
    }

    /// What the process ends with.
    pub(super) fn exit(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::NothingArrived => exit::NOTHING_ARRIVED,
            Self::NoArtifact { .. } => exit::NO_ARTIFACT,
            Self::AlreadyConsumed { .. } => exit::ALREADY_CONSUMED,
            Self::Withheld { .. } => exit::WITHHELD,
        })
    }

    /// What was waited for and how long, what came, and what to do next.
    pub(super) fn explain(&self, kind: Kind, inbox: &InboxId, time: Duration) -> String {
        let wanted = kind.as_str();
        let because = |reason: &Option<String>| match reason {
            Some(reason) => format!(" ({reason})"),
            None => String::new(),
        };
        let came = match self {
            Self::NothingArrived => {
                "no mail arrived; check that it was sent to this inbox".to_owned()
            }
            Self::NoArtifact { reason } => format!(
                "mail arrived, and no {wanted} that is safe to give out was in it{}; ask its \
                 sender for another",
                because(reason)
            ),
            Self::AlreadyConsumed { at } => format!(
                "the only {wanted} was consumed before{}; ask its sender for another",
                at.as_ref()
                    .map(|at| format!(", at {at}"))
                    .unwrap_or_default()
            ),
            Self::Withheld { reason } => format!(
                "a {wanted} arrived and is withheld{}; the operator's allowlist decides",
                because(reason)
            ),
        };
        format!("waited {time:?} for a {wanted} at {inbox}: {came}")
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
        Miss::AlreadyConsumed { .. } => 2,
        Miss::Withheld { .. } => 3,
    }
}
