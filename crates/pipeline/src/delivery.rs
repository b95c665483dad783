//! A delivery: one authentic post, stored as it was received.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::{DeliveryId, ServerKey, SourceName, Timestamp, digest};

/// Identifies a delivery: two posts with the same key are one delivery. The first of the
/// three layers that drop duplicates.
///
/// The source is part of the key, so the same id from two sources is two deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryKey([u8; 16]);

impl DeliveryKey {
    /// The key of a post that carries the provider's own delivery id.
    pub fn from_provider_id(source: &SourceName, id: &str) -> Self {
        Self(digest::half(digest::plain(&[
            b"id",
            source.as_str().as_bytes(),
            id.as_bytes(),
        ])))
    }

    /// The key of a post without an id: a digest of the content that stays the same
    /// when the sender retries.
    pub fn from_content(source: &SourceName, content: &ContentDigest) -> Self {
        Self(digest::half(digest::plain(&[
            b"content",
            source.as_str().as_bytes(),
            &content.0,
        ])))
    }

    /// The key of a mail that was found by polling, made from the source's own id for
    /// it. It never equals the key of a post: a mail that arrives both by webhook and
    /// by polling is two deliveries of one message.
    pub fn from_poll(source: &SourceName, id: &str) -> Self {
        Self(digest::half(digest::plain(&[
            b"poll",
            source.as_str().as_bytes(),
            id.as_bytes(),
        ])))
    }

    /// The key of the extra row for an authentic post whose id was used for other
    /// content before.
    #[must_use]
    pub fn conflicting(&self, content: &ContentDigest) -> Self {
        Self(digest::half(digest::plain(&[
            b"conflict",
            &self.0,
            &content.0,
        ])))
    }

    /// The key as it is stored, keyed with the server's secret. Some keys are digests
    /// of content; without the secret, a code in otherwise known content could be
    /// guessed.
    #[must_use]
    pub fn keyed_with(&self, server: &ServerKey) -> Self {
        Self(server.tag(&[b"delivery", &self.0]))
    }

    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A digest of the part of a delivery that stays the same when the sender retries. For
/// most providers that is the whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// Digests the stable fields of a delivery.
    pub fn of(fields: &[&[u8]]) -> Self {
        Self(digest::of_content(fields))
    }

    /// The digest as it is stored; see [`DeliveryKey::keyed_with`].
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
    /// The id of the row, if the key is new.
    pub id: DeliveryId,
    /// The source it came from.
    pub source: SourceName,
    /// Its deduplication key.
    pub key: DeliveryKey,
    /// Distinguishes a retry from another delivery that reuses the same id.
    pub content: ContentDigest,
    /// The request's `Content-Type`, needed to decode the body.
    pub content_type: String,
    /// The bytes as they were received.
    pub body: Vec<u8>,
    /// What to do if the key was recorded before with other content.
    pub on_conflict: OnConflict,
}

/// Without the body: bodies must not be logged.
impl fmt::Debug for NewDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewDelivery")
            .field("id", &self.id)
            .field("source", &self.source)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What to do with a delivery whose key was recorded before with other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Record it in an extra row. Its signature covers the body, so the sender itself
    /// reused the id, and no mail may be lost.
    Keep,
    /// Write nothing. Its signature covers only a one-time token, so somebody who saw
    /// the token made another body for it.
    Refuse,
}

/// The outcome of recording a [`NewDelivery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// The key was new; the delivery is recorded.
    New(DeliveryId),
    /// The key was recorded before with the same content; nothing was written.
    Duplicate(DeliveryId),
    /// The key was recorded before with other content. This delivery is recorded in an
    /// extra row, marked as a conflict.
    Conflict(DeliveryId),
    /// The key was recorded before, in this row, with other content. Nothing was
    /// written, because of [`OnConflict::Refuse`].
    Refused(DeliveryId),
}

impl Recorded {
    /// The row of this delivery, or the row that has its key.
    pub fn id(self) -> DeliveryId {
        match self {
            Self::New(id) | Self::Duplicate(id) | Self::Conflict(id) | Self::Refused(id) => id,
        }
    }

    /// The outcome for another post of the same delivery.
    #[must_use]
    pub fn of_repeat(self) -> Self {
        match self {
            Self::Refused(holder) => Self::Refused(holder),
            kept => Self::Duplicate(kept.id()),
        }
    }

    /// Whether a row was written, so that the queue must be notified.
    pub fn is_fresh(self) -> bool {
        matches!(self, Self::New(_) | Self::Conflict(_))
    }
}

/// A recorded delivery, as a worker gets it with its claim.
#[derive(Clone)]
pub struct StoredDelivery {
    /// The id of its row.
    pub id: DeliveryId,
    /// The source it came from.
    pub source: SourceName,
    /// The request's `Content-Type`.
    pub content_type: String,
    /// The bytes as they were received.
    pub body: Vec<u8>,
    /// When it was recorded, by the database's clock.
    pub recorded_at: Timestamp,
    /// Tells the store when the delivery is dropped.
    pub loan: BodyLoan,
}

/// What the store lends with a delivery: a place among those that are being read, and for a
/// large body the permission to hold it in memory. The loan ends when it is dropped.
#[derive(Clone, Default)]
pub struct BodyLoan {
    _permit: Option<Arc<dyn Any + Send + Sync>>,
}

impl BodyLoan {
    /// A loan that drops `permit` when it ends.
    pub fn until_dropped<P: Any + Send + Sync>(permit: P) -> Self {
        Self {
            _permit: Some(Arc::new(permit)),
        }
    }
}

/// Without the body: bodies must not be logged.
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
    fn same_id_from_two_sources_gives_two_keys() {
        let a = DeliveryKey::from_provider_id(&source("a"), "msg_1");
        let b = DeliveryKey::from_provider_id(&source("b"), "msg_1");
        assert_ne!(a, b);
    }

    #[test]
    fn keys_made_from_id_content_conflict_and_poll_differ() {
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
    fn stored_keys_and_digests_depend_on_the_server_key() {
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
    fn debug_output_of_a_delivery_hides_its_body() {
        let stored = StoredDelivery {
            id: DeliveryId::new(),
            source: source("a"),
            content_type: String::new(),
            body: vec![231; 3],
            recorded_at: Timestamp::from_millis(0),
            loan: BodyLoan::default(),
        };
        assert!(!format!("{stored:?}").contains("231"), "{stored:?}");
    }
}
