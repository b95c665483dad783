//! An attempt: one try of an agent to get past "check your inbox".
//!
//! The agent opens it before it triggers the mail. Mail that was received earlier is
//! given out for it only if the agent asks for that. A mail is given to at most one
//! attempt; an attempt's newest mail replaces its older ones.

mod answer;
mod earlier;
mod expected;
#[cfg(test)]
mod fixtures;
mod view;

use std::time::Duration;

use serde::Serialize;

use crate::{ArtifactKind, AttemptId, ConsumerId, IdempotencyKey, InboxId, Reason, Request, Scope};

pub use answer::{AttemptConsume, AttemptConsumed, AttemptFinished, ResendOutcome, ResendRequest};
pub use earlier::{ALREADY_CONSUMED, Earlier};
pub use expected::{CodeForm, InvalidCodeForm};
pub use view::{AttemptStatus, AttemptView};

/// What an attempt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// A one-time code.
    Code,
    /// A link.
    Link,
    /// A code or a link. If a mail holds both: the one with the higher confidence; if
    /// they are equal, the code.
    Either,
}

impl Wanted {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Code, Self::Link, Self::Either];

    /// The word used in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Either => "either",
        }
    }

    /// The value with this stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wanted| wanted.as_str() == word)
    }

    /// Whether an artifact of this kind is wanted.
    pub fn includes(self, kind: ArtifactKind) -> bool {
        match kind {
            ArtifactKind::Code => self != Self::Link,
            ArtifactKind::Link => self != Self::Code,
            ArtifactKind::Nothing => false,
        }
    }
}

/// Which mail counts for an attempt, and which part of it is given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRules {
    /// What is waited for.
    pub wanted: Wanted,
    /// Allowed sender domains, including their subdomains. Empty: any domain.
    pub senders: Vec<String>,
    /// Whether mail counts only if its sender is proven.
    pub needs_proof: bool,
    /// Allowlist entries for links. `None`: the list of the inbox or the operator
    /// applies.
    pub links: Option<Vec<String>>,
    /// The query parameter or fragment field of the link that is given out instead of
    /// the whole link.
    pub token: Option<String>,
    /// The form of the code, if the agent knows it.
    pub expected: Option<CodeForm>,
}

/// An attempt that is not open yet.
#[derive(Debug, Clone)]
pub struct NewAttempt {
    /// The id of the row, if the reference is new.
    pub id: AttemptId,
    /// The caller that opens it.
    pub owner: ConsumerId,
    /// What the caller may touch.
    pub scope: Scope,
    /// The caller's own name for it. The same reference means the same attempt.
    pub reference: Option<IdempotencyKey>,
    /// The request that opens it, if it has an idempotency key. A retry of the request
    /// returns the same attempt.
    pub asked: Option<Request>,
    /// A digest of what was asked for, which detects a reference that is reused for
    /// something else.
    pub request: [u8; 16],
    /// The inbox to wait on.
    pub inbox: InboxId,
    /// Whether that address was generated for this attempt.
    pub is_minted: bool,
    /// Which mail counts.
    pub rules: AttemptRules,
    /// Whether mail that arrived before counts, too, if it belongs to no attempt or to one of
    /// the caller's that has ended.
    pub takes_earlier: bool,
    /// For how long it waits.
    pub timeout: Duration,
    /// After how long it ends earlier, unless the same request is repeated.
    pub heartbeat: Option<Duration>,
    /// How often the agent may ask the sender for another mail.
    pub resends: u32,
    /// The configured callback that receives the value instead of the agent.
    pub callback: Option<String>,
}

/// The outcome of opening an attempt.
#[derive(Debug, Clone)]
pub enum Opened {
    /// It is open. Mail counts from now on.
    New(AttemptView),
    /// The same request, by its reference or its idempotency key, opened this attempt
    /// before.
    Known(AttemptView),
    /// The reference was used for another request.
    ReferenceReused,
    /// The idempotency key was used for another request.
    KeyReused,
    /// The caller's scope has no such inbox.
    InboxUnknown,
}

/// What the worker needs of an open attempt to judge mail for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAttempt {
    /// The id of its row.
    pub id: AttemptId,
    /// Which mail counts.
    pub rules: AttemptRules,
}

/// Why a mail gave nothing to an open attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The attempt.
    pub attempt: AttemptId,
    /// Whether something was withheld or nothing was found.
    pub kind: MissKind,
    /// The rule that decided.
    pub reason: Reason,
    /// The domain that a list refused: of the sender, or of the host of the link.
    pub seen: Option<String>,
}

/// The reason of a miss when the mail would have been usable, but was given to another
/// attempt that waits on the same inbox.
pub const GIVEN_TO_ANOTHER_ATTEMPT: Reason = Reason::new("given_to_another_attempt");

/// The two ways in which a mail can give nothing to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissKind {
    /// A rule withholds its value.
    Blocked,
    /// It has no value that is safe to give out.
    NoArtifact,
}

impl MissKind {
    /// The word used in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::NoArtifact => "no_artifact",
        }
    }

    /// The value with this stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Blocked, Self::NoArtifact]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// How an attempt ended, reported by the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The value worked.
    Succeeded,
    /// The value did not work.
    Failed,
    /// The agent no longer needs it.
    Abandoned,
}

impl AttemptOutcome {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Abandoned];

    /// The word used in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }

    /// The value with this stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}
