//! An attempt: one try of an agent to get past "check your inbox".
//!
//! It is opened before the mail is triggered, so the server knows from when on
//! mail counts; what is older can never be handed out for it. A mail goes to one
//! attempt, and an attempt's newest mail wins.

mod answer;
mod view;

use std::time::Duration;

use serde::Serialize;

use crate::{
    ArtifactKey, ArtifactKind, AttemptId, ConsumerId, IdempotencyKey, InboxId, Reason, Request,
    Scope,
};

pub use answer::{AttemptConsume, AttemptConsumed, AttemptFinished, ResendRequest, ResendOutcome};
pub use view::{AttemptView, AttemptStatus};

/// What an attempt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// A one-time code.
    Code,
    /// A link.
    Link,
    /// Whichever of the two a mail holds; if both, the surer one, a code first.
    Either,
}

impl Wanted {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Code, Self::Link, Self::Either];

    /// The word the databases and the feed use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Either => "either",
        }
    }

    /// What is behind a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wanted| wanted.as_str() == word)
    }

    /// Whether an artifact of this kind would do.
    pub fn includes(self, kind: ArtifactKind) -> bool {
        match kind {
            ArtifactKind::Code => self != Self::Link,
            ArtifactKind::Link => self != Self::Code,
            ArtifactKind::Nothing => false,
        }
    }
}

/// Which mail counts for an attempt, and what of it is handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRules {
    /// What is waited for.
    pub wanted: Wanted,
    /// Domains that the sender may have, they or one below; none named: any.
    pub senders: Vec<String>,
    /// Whether mail counts only if its sender is proven.
    pub needs_proof: bool,
    /// Where a link may lead, in the words of the allowlist; `None` leaves it to
    /// the inbox and the operator.
    pub links: Option<Vec<String>>,
    /// The query parameter or fragment field of the link that is handed out in
    /// place of the whole link.
    pub token: Option<String>,
}

/// An attempt that is not open yet.
#[derive(Debug, Clone)]
pub struct NewAttempt {
    /// The id the row gets if its reference is new.
    pub id: AttemptId,
    /// Who opens it.
    pub owner: ConsumerId,
    /// What the opener may touch.
    pub scope: Scope,
    /// The opener's own word for it; the same word means the same attempt.
    pub reference: Option<IdempotencyKey>,
    /// The request it is opened by, if its sender has a word for that; a retry finds
    /// the same attempt.
    pub asked: Option<Request>,
    /// What was asked for, so that one reference for two requests is noticed.
    pub request: [u8; 16],
    /// The inbox to wait on.
    pub inbox: InboxId,
    /// Whether that address was minted for this attempt.
    pub is_minted: bool,
    /// Which mail counts.
    pub rules: AttemptRules,
    /// For how long it waits.
    pub timeout: Duration,
    /// How often its sender may be asked for another mail.
    pub resends: u32,
    /// The configured callback that consumes in the agent's place.
    pub callback: Option<String>,
}

/// What came of opening an attempt.
#[derive(Debug, Clone)]
pub enum Opened {
    /// It is open; mail counts from now on.
    New(AttemptView),
    /// The reference or the key was known with the same request; this is that
    /// attempt.
    Known(AttemptView),
    /// The reference was known with another request.
    ReferenceReused,
    /// The idempotency key was used for another request.
    KeyReused,
    /// There is no such inbox in the opener's scope.
    InboxUnknown,
}

/// An open attempt, as far as the worker judges mail for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAttempt {
    /// Its row.
    pub id: AttemptId,
    /// Which mail counts.
    pub rules: AttemptRules,
}

/// An artifact may be for this attempt; the database decides for which of
/// several, and the key is then the artifact's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptMatch {
    /// The attempt.
    pub attempt: AttemptId,
    /// What the artifact is deduplicated by if it becomes this attempt's.
    pub key: ArtifactKey,
}

/// Why a mail gave an open attempt nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The attempt.
    pub attempt: AttemptId,
    /// Whether something was kept back or nothing was there.
    pub kind: MissKind,
    /// The rule that decided.
    pub reason: Reason,
}

/// The reason of a miss that is none of the mail's: it would have done, and was given
/// to another attempt that waits on the same inbox.
pub const GIVEN_TO_ANOTHER_ATTEMPT: Reason = Reason::new("given_to_another_attempt");

/// The two ways a mail can be of no use to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissKind {
    /// A rule keeps it back.
    Blocked,
    /// Nothing safe was in it.
    NoArtifact,
}

impl MissKind {
    /// The word the databases use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::NoArtifact => "no_artifact",
        }
    }

    /// What is behind a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Blocked, Self::NoArtifact]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// How the agent says it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The value did what it was for.
    Succeeded,
    /// It did not.
    Failed,
    /// The agent no longer needs it.
    Abandoned,
}

impl AttemptOutcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Abandoned];

    /// The word the databases and the feed use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }

    /// What is behind a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}
