//! A message: one e-mail to one inbox.

use crate::{InboxId, MessageId, Miss, NewArtifact, Timestamp, digest};

/// What makes two mails the same message: the second of the three layers.
///
/// The mail's `Message-ID` alone is not trusted: whoever guesses it first could
/// suppress the real mail. The content a reader sees is part of the key, and the
/// transport headers are not, so the same mail over two paths is one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageKey([u8; 16]);

impl MessageKey {
    /// The key of a mail with one well-formed `Message-ID`, or without one.
    pub fn new(inbox: &InboxId, message_id: Option<&str>, content: &[u8; 32]) -> Self {
        let (kind, id): (&[u8], &[u8]) = match message_id {
            Some(id) => (b"id", id.as_bytes()),
            None => (b"none", b""),
        };
        Self(digest::half(digest::plain(&[
            kind,
            inbox.as_str().as_bytes(),
            id,
            content,
        ])))
    }

    /// The key as the databases keep it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Who a mail says it is from, in the bounded form that an agent may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The address, when it fits the bounded form.
    pub address: Option<String>,
    /// Its domain, in ASCII.
    pub domain: Option<String>,
}

/// A message that is not recorded yet, with what was found in it.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The id the row gets if this is the first of its key.
    pub id: MessageId,
    /// Whose mail it is.
    pub inbox: InboxId,
    /// What it is deduplicated by.
    pub key: MessageKey,
    /// Who it says it is from.
    pub sender: Sender,
    /// Slugs of what was odd about it, from a closed list.
    pub flags: Vec<String>,
    /// When the provider received it, if it says so; it never counts as later
    /// than its delivery was recorded.
    pub received_at: Option<Timestamp>,
    /// What it held: at least one item, if only to say that there was nothing.
    pub artifacts: Vec<NewArtifact>,
    /// The open attempts that it gives nothing, and why.
    pub misses: Vec<Miss>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inbox_id_and_content_all_count() {
        let inbox: InboxId = "a@inbox.test".parse().unwrap();
        let other: InboxId = "b@inbox.test".parse().unwrap();
        let key = MessageKey::new(&inbox, Some("<1@x>"), &[0; 32]);
        assert_eq!(key, MessageKey::new(&inbox, Some("<1@x>"), &[0; 32]));
        assert_ne!(key, MessageKey::new(&other, Some("<1@x>"), &[0; 32]));
        assert_ne!(key, MessageKey::new(&inbox, Some("<2@x>"), &[0; 32]));
        assert_ne!(key, MessageKey::new(&inbox, Some("<1@x>"), &[1; 32]));
        assert_ne!(
            MessageKey::new(&inbox, None, &[0; 32]),
            MessageKey::new(&inbox, Some(""), &[0; 32])
        );
    }
}
