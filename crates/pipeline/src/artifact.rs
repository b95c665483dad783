//! An artifact: what a message held for the agent.

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use serde::Serialize;

use crate::{
    ArtifactId, AttemptId, InboxId, MessageId, Reason, SenderProof, AttemptMatch, Timestamp, digest,
};

/// What kind of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// A one-time code.
    Code,
    /// A link that verifies, signs in or resets.
    Link,
    /// Neither: the message came, and this item says why it gave nothing.
    Nothing,
}

impl ArtifactKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Code, Self::Link, Self::Nothing];

    /// The word the databases and the feed use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Link => "link",
            Self::Nothing => "nothing",
        }
    }

    /// The kind behind a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Whether an artifact may be given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may be consumed.
    Usable,
    /// Something was found and is kept back, for this reason.
    Withheld(Reason),
    /// Nothing was found, for this reason.
    Abstained(Reason),
}

impl Verdict {
    /// All words that [`Self::as_str`] has.
    pub const WORDS: [&'static str; 3] = [Self::USABLE, Self::WITHHELD, Self::ABSTAINED];
    const USABLE: &'static str = "usable";
    const WITHHELD: &'static str = "withheld";
    const ABSTAINED: &'static str = "abstained";

    /// The word the databases and the feed use.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Usable => Self::USABLE,
            Self::Withheld(_) => Self::WITHHELD,
            Self::Abstained(_) => Self::ABSTAINED,
        }
    }

    /// Why it is not usable, when it is not.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Usable => None,
            Self::Withheld(reason) | Self::Abstained(reason) => Some(reason),
        }
    }

    /// The verdict behind a stored word and reason.
    pub fn from_words(word: &str, reason: Option<Reason>) -> Option<Self> {
        match (word, reason) {
            (Self::USABLE, None) => Some(Self::Usable),
            (Self::WITHHELD, Some(reason)) => Some(Self::Withheld(reason)),
            (Self::ABSTAINED, Some(reason)) => Some(Self::Abstained(reason)),
            _ => None,
        }
    }
}

/// The server's own secret, which makes the keys of rows useless to whoever
/// steals the database: the million six-digit codes fall to a plain hash in
/// seconds, and so does a mail in which nothing but six digits is unknown.
///
/// It is not rotated with the keys that seal values: whoever changes it forgets
/// what was seen before.
#[derive(Clone)]
pub struct ServerKey([u8; 32]);

impl ServerKey {
    /// Wraps 32 secret bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Derives a key from a passphrase-like secret of any length.
    pub fn derive(secret: &str) -> Self {
        Self(digest::plain(&[b"maillatch server key", secret.as_bytes()]))
    }

    /// A tag that nobody without this key can make for these fields. The first
    /// field names the purpose, so that a tag for one is none for another.
    pub fn tag(&self, fields: &[&[u8]]) -> [u8; 16] {
        digest::half(self.long_tag(fields))
    }

    /// The same, at full length.
    pub(crate) fn long_tag(&self, fields: &[&[u8]]) -> [u8; 32] {
        digest::keyed(&self.0, fields)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(…)")
    }
}

/// What makes two findings the same artifact: the third of the three layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArtifactKey([u8; 16]);

impl ArtifactKey {
    /// The key of a value found in an inbox's mail.
    ///
    /// The same value mailed again within `window` is the same artifact; later
    /// it is another one, since six digits repeat by themselves.
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

    /// The key of a value that is for an attempt. The same value mailed again
    /// within the attempt is the same artifact; in another it is another one.
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

    /// The key of an item without a value: it is one with its message.
    pub fn for_message(server: &ServerKey, message: &[u8; 16], kind: ArtifactKind) -> Self {
        let fields: [&[u8]; 3] = [b"message", message, kind.as_str().as_bytes()];
        Self(server.tag(&fields))
    }

    /// The key as the databases keep it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// An artifact that is not recorded yet.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// The id the row gets if this is the first of its key.
    pub id: ArtifactId,
    /// What it is deduplicated by.
    pub key: ArtifactKey,
    /// Code, link or nothing.
    pub kind: ArtifactKind,
    /// Whether it may be given out.
    pub verdict: Verdict,
    /// The code or the link; only a usable artifact has one.
    pub value: Option<SecretString>,
    /// The rule that found it or kept it back.
    pub rule: Reason,
    /// How sure the extractor is, 0 to 100.
    pub confidence: u8,
    /// A link's host, which the gate has passed.
    pub host: Option<String>,
    /// How long after its message was received it may be consumed.
    pub lifetime: Duration,
    /// The attempts it may be for; the database gives it to one of them at most.
    pub matches: Vec<AttemptMatch>,
}

/// The position of an item in its inbox: 1, 2, 3, without gaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(i64);

impl Seq {
    /// Before the first item.
    pub const START: Self = Self(0);

    /// The position behind a stored number.
    pub fn new(number: i64) -> Self {
        Self(number)
    }

    /// The position as a number.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// All that an agent may learn of an artifact before it consumes it.
///
/// There is no field here in which a stranger's free text could travel, and no
/// field for the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactView {
    /// Its row.
    pub id: ArtifactId,
    /// Whose it is.
    pub inbox: InboxId,
    /// Its place in the inbox.
    pub seq: Seq,
    /// Code, link or nothing.
    pub kind: ArtifactKind,
    /// Whether it may be given out.
    pub verdict: Verdict,
    /// The rule that found it or kept it back.
    pub rule: Reason,
    /// How sure the extractor is, 0 to 100.
    pub confidence: u8,
    /// A link's host.
    pub host: Option<String>,
    /// The message it came in.
    pub message: MessageId,
    /// The sender's address, when it fits the bounded form.
    pub sender: Option<String>,
    /// The sender's domain, in ASCII.
    pub sender_domain: Option<String>,
    /// Whether it is proven that the mail comes from that domain.
    pub sender_proof: SenderProof,
    /// What was odd about the message.
    pub flags: Vec<String>,
    /// When the message was received, by the database's clock.
    pub received_at: Timestamp,
    /// From when on it can no longer be consumed.
    pub expires_at: Timestamp,
    /// Whether `expires_at` has passed, by the database's clock.
    pub is_expired: bool,
    /// When it was consumed, if it was.
    pub consumed_at: Option<Timestamp>,
    /// The attempt it is for.
    pub attempt: Option<AttemptId>,
    /// Whether a newer one has taken its place.
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
    fn the_key_depends_on_everything_that_sets_two_artifacts_apart() {
        let base = key(1, "a@inbox.test", "493817", 7);
        assert_eq!(base, key(1, "a@inbox.test", "493817", 7));
        assert_ne!(base, key(2, "a@inbox.test", "493817", 7));
        assert_ne!(base, key(1, "b@inbox.test", "493817", 7));
        assert_ne!(base, key(1, "a@inbox.test", "493818", 7));
        assert_ne!(base, key(1, "a@inbox.test", "493817", 8));
    }

    #[test]
    fn the_server_key_does_not_print() {
        assert_eq!(
            format!("{:?}", ServerKey::derive("hunter2")),
            "ServerKey(…)"
        );
    }
}
