//! A delivery: one authentic post, kept as it came.

use std::fmt;
use std::str::FromStr;

use crate::{DeliveryId, ServerKey, Timestamp, digest};

/// The name of a configured source; it is also the last part of its webhook's path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName(String);

/// The text cannot name a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a source name is 1 to 40 of a-z, 0-9, `-` and `_`")]
pub struct SourceNameError;

impl SourceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SourceName {
    type Err = SourceNameError;

    fn from_str(text: &str) -> Result<Self, SourceNameError> {
        let fits = (1..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        fits.then(|| Self(text.to_owned())).ok_or(SourceNameError)
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes two posts the same delivery: the first of the three layers.
///
/// The source is part of it, so the same id from two sources is two deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryKey([u8; 16]);

impl DeliveryKey {
    /// The key of a post that carries the provider's own delivery id.
    pub fn from_provider_id(source: &SourceName, id: &str) -> Self {
        Self(digest::half(digest::plain(&[
            b"id",
            source.0.as_bytes(),
            id.as_bytes(),
        ])))
    }

    /// The key of a post without an id: a digest of what does not change
    /// between two tries of the same delivery.
    pub fn from_content(source: &SourceName, content: &ContentDigest) -> Self {
        Self(digest::half(digest::plain(&[
            b"content",
            source.0.as_bytes(),
            &content.0,
        ])))
    }

    /// The key of a mail that was found by polling, by the source's own id for
    /// it. It never meets the key of a post: what a webhook and an API say of
    /// one mail are two deliveries of one message.
    pub fn from_poll(source: &SourceName, id: &str) -> Self {
        Self(digest::half(digest::plain(&[
            b"poll",
            source.0.as_bytes(),
            id.as_bytes(),
        ])))
    }

    /// The key of the row that keeps an authentic post whose id was already
    /// taken by other content.
    #[must_use]
    pub fn conflicting(&self, content: &ContentDigest) -> Self {
        Self(digest::half(digest::plain(&[
            b"conflict",
            &self.0,
            &content.0,
        ])))
    }

    /// The key as it may be stored: some are made of content, and content whose
    /// only unknown is a code falls to guessing without the server's secret.
    #[must_use]
    pub fn keyed_with(&self, server: &ServerKey) -> Self {
        Self(server.tag(&[b"delivery", &self.0]))
    }

    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A digest of the part of a delivery that stays the same over its retries;
/// for most providers the whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// Digests the stable fields of a delivery.
    pub fn of(fields: &[&[u8]]) -> Self {
        Self(digest::plain(fields))
    }

    /// The digest as it may be stored; see [`DeliveryKey::keyed_with`].
    #[must_use]
    pub fn keyed_with(&self, server: &ServerKey) -> Self {
        Self(server.long_tag(&[b"content", &self.0]))
    }

    /// The bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// An authentic delivery that is not recorded yet.
#[derive(Clone)]
pub struct NewDelivery {
    /// The id the row gets if this is the first of its key.
    pub id: DeliveryId,
    /// Where it came from.
    pub source: SourceName,
    /// What it is deduplicated by.
    pub key: DeliveryKey,
    /// What tells a retry from another delivery under a reused id.
    pub content: ContentDigest,
    /// The request's `Content-Type`, for whoever decodes the body.
    pub content_type: String,
    /// The bytes as they came over the wire.
    pub body: Vec<u8>,
    /// What is to be done if the key is known with other content.
    pub on_conflict: OnConflict,
}

/// Without the body, which no log may hold.
impl fmt::Debug for NewDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewDelivery")
            .field("id", &self.id)
            .field("source", &self.source)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What is to be done with a delivery whose key is known with other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Keep it in a row of its own: its proof covers the body, so the sender
    /// has reused an id, and nothing may be lost.
    Keep,
    /// Write nothing: its proof is a token that is used once, so somebody who
    /// has seen the token has made another body for it.
    Refuse,
}

/// What the database answered to a [`NewDelivery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// The first of its key; it is now a row.
    New(DeliveryId),
    /// The key is known with the same content; nothing was written.
    Duplicate(DeliveryId),
    /// The key is known with other content; this one has a row of its own,
    /// marked as a conflict.
    Conflict(DeliveryId),
    /// The key is known with other content, by this row, and this one was to be
    /// refused then; nothing was written.
    Refused(DeliveryId),
}

impl Recorded {
    /// The row that holds this delivery, or its key.
    pub fn id(self) -> DeliveryId {
        match self {
            Self::New(id) | Self::Duplicate(id) | Self::Conflict(id) | Self::Refused(id) => id,
        }
    }

    /// Whether this record wrote a row, so that a bell has to be rung for it.
    pub fn is_fresh(self) -> bool {
        matches!(self, Self::New(_) | Self::Conflict(_))
    }
}

/// A recorded delivery, as a worker receives it with its claim.
#[derive(Clone)]
pub struct StoredDelivery {
    /// Its row.
    pub id: DeliveryId,
    /// Where it came from.
    pub source: SourceName,
    /// The request's `Content-Type`.
    pub content_type: String,
    /// The bytes as they came over the wire.
    pub body: Vec<u8>,
    /// When it was recorded, by the database's clock.
    pub recorded_at: Timestamp,
}

/// Without the body, which no log may hold.
impl fmt::Debug for StoredDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredDelivery")
            .field("id", &self.id)
            .field("source", &self.source)
            .field("bytes", &self.body.len())
            .field("recorded_at", &self.recorded_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str) -> SourceName {
        name.parse().unwrap()
    }

    #[test]
    fn the_same_id_from_another_source_is_another_delivery() {
        let a = DeliveryKey::from_provider_id(&source("a"), "msg_1");
        let b = DeliveryKey::from_provider_id(&source("b"), "msg_1");
        assert_ne!(a, b);
    }

    #[test]
    fn keys_by_id_by_content_and_of_conflicts_never_meet() {
        let content = ContentDigest::of(&[b"body"]);
        let by_content = DeliveryKey::from_content(&source("a"), &content);
        // An id that spells the very bytes of a digest is still an id.
        let same_bytes = ContentDigest([b'a'; 32]);
        let by_id = DeliveryKey::from_provider_id(&source("a"), &"a".repeat(32));
        assert_ne!(by_id, DeliveryKey::from_content(&source("a"), &same_bytes));
        assert_ne!(by_content, by_content.conflicting(&content));
        assert_ne!(by_id, DeliveryKey::from_poll(&source("a"), &"a".repeat(32)));
    }

    #[test]
    fn what_is_stored_cannot_be_made_without_the_servers_secret() {
        let content = ContentDigest::of(&[b"Your code is 493817"]);
        let key = DeliveryKey::from_content(&source("a"), &content);
        let [one, other] = [1, 2].map(|byte| ServerKey::new([byte; 32]));
        assert_eq!(key.keyed_with(&one), key.keyed_with(&one));
        assert_ne!(key.keyed_with(&one), key.keyed_with(&other));
        assert_ne!(key.keyed_with(&one), key);
        assert_eq!(content.keyed_with(&one), content.keyed_with(&one));
        assert_ne!(content.keyed_with(&one), content.keyed_with(&other));
        assert_ne!(content.keyed_with(&one), content);
    }

    #[test]
    fn a_body_does_not_print() {
        let stored = StoredDelivery {
            id: DeliveryId::new(),
            source: source("a"),
            content_type: String::new(),
            body: vec![231; 3],
            recorded_at: Timestamp::from_millis(0),
        };
        assert!(!format!("{stored:?}").contains("231"), "{stored:?}");
    }

    #[test]
    fn source_names_are_bounded() {
        for bad in ["", "UPPER", "a b", "a/b", "ä", &"a".repeat(41)] {
            assert_eq!(bad.parse::<SourceName>(), Err(SourceNameError), "{bad:?}");
        }
    }
}
