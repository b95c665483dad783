//! An attempt: one try of an agent to get past "check your inbox".
//!
//! It is opened before the mail is triggered, so the server knows from when on
//! mail counts; what is older can never be handed out for it. A mail goes to one
//! attempt, and an attempt's newest mail wins.

use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;

use crate::{
    ArtifactId, ArtifactKey, ArtifactKind, ArtifactView, AttemptId, ConsumerId, IdempotencyKey,
    InboxId, Reason, Scope, Timestamp, Verdict,
};

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
        [Self::Code, Self::Link, Self::Either]
            .into_iter()
            .find(|wanted| wanted.as_str() == word)
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
pub struct Rules {
    /// What is waited for.
    pub wanted: Wanted,
    /// Domains that the sender may have, they or one below; none named: any.
    pub senders: Vec<String>,
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
    /// What was asked for, so that one reference for two requests is noticed.
    pub request: [u8; 16],
    /// The inbox to wait on.
    pub inbox: InboxId,
    /// Whether that address was minted for this attempt.
    pub is_minted: bool,
    /// Which mail counts.
    pub rules: Rules,
    /// For how long it waits.
    pub patience: Duration,
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
    /// The reference was known with the same request; this is that attempt.
    Known(AttemptView),
    /// The reference was known with another request.
    ReferenceReused,
    /// There is no such inbox in the opener's scope.
    InboxUnknown,
}

/// An open attempt, as far as the worker judges mail for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAttempt {
    /// Its row.
    pub id: AttemptId,
    /// Which mail counts.
    pub rules: Rules,
}

/// An artifact may be for this attempt; the database decides for which of
/// several, and the key is then the artifact's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suit {
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
        [Self::Succeeded, Self::Failed, Self::Abandoned]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// All that is known of an attempt, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptView {
    /// Its row.
    pub id: AttemptId,
    /// Where mail for it is awaited.
    pub inbox: InboxId,
    /// Which mail counts.
    pub rules: Rules,
    /// The configured callback that consumes in the agent's place.
    pub callback: Option<String>,
    /// From when on mail counts, by the database's clock.
    pub opened_at: Timestamp,
    /// Until when it is awaited.
    pub deadline: Timestamp,
    /// How long that still is; nothing when the deadline has passed.
    pub remaining: Duration,
    /// Whether the deadline has passed.
    pub is_over: bool,
    /// How often its sender may still be asked for another mail.
    pub resends_left: u32,
    /// When its sender was last asked for another mail.
    pub resent_at: Option<Timestamp>,
    /// How the agent said it ended.
    pub outcome: Option<AttemptOutcome>,
    /// The newest artifact that is this attempt's.
    pub current: Option<ArtifactView>,
    /// Whether an artifact of this attempt was consumed.
    pub has_consumed: bool,
    /// What the last mail that was of no use was like.
    pub miss: Option<(MissKind, Reason)>,
}

/// How an attempt stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nothing has come yet.
    Pending,
    /// An artifact is there to be consumed.
    Ready,
    /// Its artifact was consumed.
    Consumed,
    /// One was consumed and a newer one has come, which can be consumed too.
    Superseded,
    /// Mail came, and this rule keeps it back.
    Blocked(Reason),
    /// Mail came, and nothing safe was in it, for this reason.
    NoArtifact(Reason),
    /// The deadline has passed without any mail.
    NothingArrived,
    /// An artifact came and its time is over, or the deadline has passed.
    Expired,
}

impl AttemptView {
    /// How it stands, by the newest that came.
    pub fn status(&self) -> Status {
        if let Some(current) = &self.current {
            return match &current.verdict {
                _ if self.awaits_another(current) => Status::Pending,
                _ if current.consumed_at.is_some() => Status::Consumed,
                _ if current.is_expired || self.is_over => Status::Expired,
                Verdict::Withheld(reason) | Verdict::Abstained(reason) => {
                    Status::Blocked(reason.clone())
                }
                Verdict::Usable if self.has_consumed => Status::Superseded,
                Verdict::Usable => Status::Ready,
            };
        }
        match &self.miss {
            Some((MissKind::Blocked, reason)) => Status::Blocked(reason.clone()),
            Some((MissKind::NoArtifact, reason)) => Status::NoArtifact(reason.clone()),
            None if self.is_over => Status::NothingArrived,
            None => Status::Pending,
        }
    }

    /// Whether its sender was asked for another mail after this one was used up.
    fn awaits_another(&self, current: &ArtifactView) -> bool {
        let was_asked = self.resent_at.zip(current.consumed_at);
        self.may_change() && was_asked.is_some_and(|(resent, consumed)| resent >= consumed)
    }

    /// Whether waiting may still change how it stands.
    pub fn may_change(&self) -> bool {
        !self.is_over && self.outcome.is_none()
    }
}

/// A request for whatever an attempt has.
#[derive(Debug, Clone)]
pub struct AttemptConsume {
    /// Which attempt.
    pub attempt: AttemptId,
    /// Who asks.
    pub consumer: ConsumerId,
    /// What the asker may see.
    pub scope: Scope,
    /// The asker's word for this request.
    pub idempotency_key: IdempotencyKey,
    /// For how long the same request gets the same answer.
    pub replay_window: Duration,
}

/// What came of an [`AttemptConsume`].
#[derive(Debug, Clone)]
pub enum AttemptConsumed {
    /// The value; its consume row is committed and names this request.
    Value {
        /// Which artifact it is.
        artifact: ArtifactId,
        /// Whether it is a code or a link.
        kind: ArtifactKind,
        /// The code or the link.
        value: SecretString,
        /// When it was consumed.
        at: Timestamp,
        /// Whether this request was answered before.
        is_replay: bool,
    },
    /// Nothing to consume right now; the attempt says how it stands.
    NotReady(Box<AttemptView>),
    /// Its artifact was consumed by another request.
    Already {
        /// When.
        at: Timestamp,
    },
    /// The idempotency key was used for something else.
    KeyReused,
    /// There is no such attempt in the asker's scope.
    Unknown,
}

/// What came of asking for another mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resent {
    /// It may be asked for; this often more after that.
    Granted {
        /// How often more.
        left: u32,
    },
    /// The budget is spent.
    Spent,
    /// The attempt is over.
    Over,
    /// The idempotency key was used for another attempt.
    KeyReused,
    /// There is no such attempt in the asker's scope.
    Unknown,
}

/// What came of finishing an attempt.
#[derive(Debug, Clone)]
pub enum Ended {
    /// It is finished with this outcome, now or before.
    Finished(Box<AttemptView>),
    /// It was finished with another outcome.
    Otherwise(AttemptOutcome),
    /// There is no such attempt in the asker's scope.
    Unknown,
}
