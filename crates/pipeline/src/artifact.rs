//! An artifact: what was found in a message.

use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;

use crate::{ArtifactId, AttemptId, InboxId, MessageId, Reason, SenderProof, ServerKey, Timestamp};

/// The kind of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// A one-time code.
    Code,
    /// A link that verifies, signs in or resets.
    Link,
    /// Neither. The message arrived; the verdict says why it has no value.
    Nothing,
}

impl ArtifactKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Code, Self::Link, Self::Nothing];

    /// The word used in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Nothing => "nothing",
        }
    }

    /// The kind with this stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Whether an artifact may be given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may be consumed.
    Usable,
    /// A value was found and is withheld, for this reason.
    Withheld(Reason),
    /// Nothing was found, for this reason.
    Abstained(Reason),
}

impl Verdict {
    /// All words that [`Self::as_str`] returns.
    pub const WORDS: [&'static str; 3] = [Self::USABLE, Self::WITHHELD, Self::ABSTAINED];
    const USABLE: &'static str = "usable";
    const WITHHELD: &'static str = "withheld";
    const ABSTAINED: &'static str = "abstained";

    /// The word used in the database and in the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Usable => Self::USABLE,
            Self::Withheld(_) => Self::WITHHELD,
            Self::Abstained(_) => Self::ABSTAINED,
        }
    }

    /// Why it is not usable; `None` when it is.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Usable => None,
            Self::Withheld(reason) | Self::Abstained(reason) => Some(reason),
        }
    }

    /// The verdict with this stored word and reason.
    pub fn from_words(word: &str, reason: Option<Reason>) -> Option<Self> {
        match (word, reason) {
            (Self::USABLE, None) => Some(Self::Usable),
            (Self::WITHHELD, Some(reason)) => Some(Self::Withheld(reason)),
            (Self::ABSTAINED, Some(reason)) => Some(Self::Abstained(reason)),
            _ => None,
        }
    }
}

/// Identifies an artifact: two findings with the same key are one artifact. The third
/// of the three layers that drop duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArtifactKey([u8; 16]);

impl ArtifactKey {
    /// The key of a value found in an inbox's mail.
    ///
    /// The same value mailed again within the same time `window` is the same
    /// artifact. Later it is a new one, because six digits can repeat by chance.
    pub fn for_value(
        server: &ServerKey,
        inbox: &InboxId,
        kind: ArtifactKind,
        value: &str,
        window: u64,
    ) -> Self {
        let fields: [&[u8]; 5] = [
            b"value",
            inbox.as_str().as_bytes(),
            kind.as_str().as_bytes(),
            value.as_bytes(),
            &window.to_be_bytes(),
        ];
        Self(server.tag(&fields))
    }

    /// The key of a value that belongs to an attempt. The same value mailed again for
    /// the same attempt is the same artifact; for another attempt it is a new one.
    pub fn for_attempt(
        server: &ServerKey,
        attempt: AttemptId,
        kind: ArtifactKind,
        value: &str,
    ) -> Self {
        let attempt = attempt.as_uuid();
        let fields: [&[u8]; 4] = [
            b"attempt",
            attempt.as_bytes(),
            kind.as_str().as_bytes(),
            value.as_bytes(),
        ];
        Self(server.tag(&fields))
    }

    /// The key of an item without a value: one for each message and kind.
    pub fn for_message(server: &ServerKey, message: &[u8; 16], kind: ArtifactKind) -> Self {
        let fields: [&[u8]; 3] = [b"message", message, kind.as_str().as_bytes()];
        Self(server.tag(&fields))
    }

    /// The key as the database stores it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// An attempt that an artifact could belong to. The database gives the artifact to at
/// most one attempt and then stores it under that match's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptMatch {
    /// The attempt.
    pub attempt: AttemptId,
    /// The artifact's key if it is given to this attempt.
    pub key: ArtifactKey,
}

/// An artifact that is not recorded yet.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// The id of the row, if the key is new.
    pub id: ArtifactId,
    /// Its deduplication key.
    pub key: ArtifactKey,
    /// Code, link or nothing.
    pub kind: ArtifactKind,
    /// Whether it may be given out.
    pub verdict: Verdict,
    /// The code or the link. Only a usable artifact has one.
    pub value: Option<SecretString>,
    /// The rule that found or withheld it.
    pub rule: Reason,
    /// The extractor's confidence, 0 to 100.
    pub confidence: u8,
    /// A link's host; it passed the allowlist.
    pub host: Option<String>,
    /// For how long after its message was received it may be consumed.
    pub lifetime: Duration,
    /// The attempts it could belong to. The database gives it to at most one of them.
    pub matches: Vec<AttemptMatch>,
    /// Whether it is recorded only if an attempt gets it: the rules of the inbox alone
    /// withhold it.
    pub needs_attempt: bool,
}

/// The position of an item in its inbox: 1, 2, 3, … without gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(i64);

impl Seq {
    /// Before the first item.
    pub const START: Self = Self(0);

    /// The position with this stored number.
    pub fn new(number: i64) -> Self {
        Self(number)
    }

    /// The position as a number.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// Everything that an agent may see of an artifact before it consumes it.
///
/// No field can carry free text that the sender of the mail wrote, and no field holds
/// the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactView {
    /// The id of its row.
    pub id: ArtifactId,
    /// The inbox that its message was sent to.
    pub inbox: InboxId,
    /// Its position in the inbox.
    pub seq: Seq,
    /// Code, link or nothing.
    pub kind: ArtifactKind,
    /// Whether it may be given out.
    pub verdict: Verdict,
    /// The rule that found or withheld it.
    pub rule: Reason,
    /// The extractor's confidence, 0 to 100.
    pub confidence: u8,
    /// A link's host.
    pub host: Option<String>,
    /// The message it came in.
    pub message: MessageId,
    /// The sender's address, if it has the bounded form that may be shown.
    pub sender: Option<String>,
    /// The sender's domain, in ASCII.
    pub sender_domain: Option<String>,
    /// Whether the mail is proven to come from that domain.
    pub sender_proof: SenderProof,
    /// What was unusual about the message, as words from a closed list.
    pub flags: Vec<String>,
    /// When the message was received, by the database's clock.
    pub received_at: Timestamp,
    /// When it expires; from then on it cannot be consumed.
    pub expires_at: Timestamp,
    /// Whether `expires_at` has passed, by the database's clock.
    pub is_expired: bool,
    /// When it was consumed, if it was.
    pub consumed_at: Option<Timestamp>,
    /// The attempt it was given to.
    pub attempt: Option<AttemptId>,
    /// Whether a newer artifact of the same attempt replaced it.
    pub is_superseded: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(server: u8, inbox: &str, value: &str, window: u64) -> ArtifactKey {
        let inbox = inbox.parse().unwrap();
        ArtifactKey::for_value(
            &ServerKey::new([server; 32]),
            &inbox,
            ArtifactKind::Code,
            value,
            window,
        )
    }

    #[test]
    fn artifact_key_depends_on_server_inbox_value_and_window() {
        let base = key(1, "a@inbox.test", "493817", 7);
        assert_eq!(base, key(1, "a@inbox.test", "493817", 7));
        assert_ne!(base, key(2, "a@inbox.test", "493817", 7));
        assert_ne!(base, key(1, "b@inbox.test", "493817", 7));
        assert_ne!(base, key(1, "a@inbox.test", "493818", 7));
        assert_ne!(base, key(1, "a@inbox.test", "493817", 8));
    }
}
