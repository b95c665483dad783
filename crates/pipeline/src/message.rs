//! A message: one e-mail to one inbox.

mod sender;

use crate::{InboxId, MessageId, Miss, NewArtifact, ServerKey, SourceName, Timestamp};

pub use sender::{Sender, SenderProof};

/// What makes two mails the same message: the second of the three layers.
///
/// The mail's `Message-ID` alone is not trusted: whoever guesses it first could
/// suppress the real mail. The content a reader sees is part of the key, and the
/// transport headers are not, so the same mail over two paths is one message.
/// It is keyed by the server's secret, or whoever steals the database could try
/// out which code makes the content of a known mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageKey([u8; 16]);

impl MessageKey {
    /// The key of a mail with one well-formed `Message-ID`, or without one.
    pub fn new(
        server: &ServerKey,
        inbox: &InboxId,
        message_id: Option<&str>,
        content: &[u8; 32],
    ) -> Self {
        let (kind, id): (&[u8], &[u8]) = match message_id {
            Some(id) => (b"id", id.as_bytes()),
            None => (b"none", b""),
        };
        let inbox = inbox.as_str().as_bytes();
        Self(server.tag(&[b"mail", kind, inbox, id, content]))
    }

    /// The key of a mail that the provider of a source knows by an id of its own.
    /// The sender has no say in that id, so it is trusted alone, and tells a mail
    /// whose original comes by one path and its parts by the other.
    pub fn of_provider(server: &ServerKey, source: &SourceName, inbox: &InboxId, id: &str) -> Self {
        let (source, inbox) = (source.as_str().as_bytes(), inbox.as_str().as_bytes());
        Self(server.tag(&[b"mail", b"provider", source, inbox, id.as_bytes()]))
    }

    /// The key as the databases keep it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
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
    /// What it is deduplicated by besides, where its provider names mails.
    pub provider_key: Option<MessageKey>,
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
        let server = ServerKey::new([7; 32]);
        let key_of = |inbox, id, content| MessageKey::new(&server, inbox, id, &[content; 32]);
        let key = key_of(&inbox, Some("<1@x>"), 0);
        assert_eq!(key, key_of(&inbox, Some("<1@x>"), 0));
        assert_ne!(key, key_of(&other, Some("<1@x>"), 0));
        assert_ne!(key, key_of(&inbox, Some("<2@x>"), 0));
        assert_ne!(key, key_of(&inbox, Some("<1@x>"), 1));
        assert_ne!(key_of(&inbox, None, 0), key_of(&inbox, Some(""), 0));
    }

    #[test]
    fn what_a_provider_names_is_told_by_source_inbox_and_id() {
        let server = ServerKey::new([7; 32]);
        let key_of = |source: &str, inbox: &str, id| {
            let (source, inbox) = (source.parse().unwrap(), inbox.parse().unwrap());
            MessageKey::of_provider(&server, &source, &inbox, id)
        };
        let key = key_of("s", "a@inbox.test", "1");
        assert_eq!(key, key_of("s", "a@inbox.test", "1"));
        assert_ne!(key, key_of("t", "a@inbox.test", "1"));
        assert_ne!(key, key_of("s", "b@inbox.test", "1"));
        assert_ne!(key, key_of("s", "a@inbox.test", "2"));
    }

    #[test]
    fn without_the_servers_secret_the_key_cannot_be_made() {
        let inbox: InboxId = "a@inbox.test".parse().unwrap();
        let key_of =
            |server| MessageKey::new(&ServerKey::new([server; 32]), &inbox, None, &[0; 32]);
        assert_ne!(key_of(1), key_of(2));
    }
}
