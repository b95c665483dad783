//! A message: one e-mail to one inbox.

mod sender;

use crate::{Handling, InboxId, MessageId, Miss, NewArtifact, ServerKey, SourceName, Timestamp};

pub use sender::{
    MAX_DOMAIN, SENDER_NOT_ALLOWED, SENDER_NOT_VERIFIED, Sender, SenderProof, refuse_sender,
};

/// Identifies a message: two mails with the same key are one message. The second of the
/// three layers that drop duplicates.
///
/// The mail's `Message-ID` alone is not trusted: somebody who guesses it could send a mail
/// first and so suppress the real one. The visible content is part of the key. Transport
/// headers are not, so the same mail received over two paths is one message.
///
/// The key is made with the server's secret. Otherwise somebody who steals the database
/// could find the code in a mail of which the rest is known.
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

    /// The key of a mail to which the provider gave an id of its own. The sender cannot
    /// choose that id, so it is trusted alone. It identifies a mail even when one path
    /// delivers the original and the other path only its parts.
    pub fn of_provider(server: &ServerKey, source: &SourceName, inbox: &InboxId, id: &str) -> Self {
        let (source, inbox) = (source.as_str().as_bytes(), inbox.as_str().as_bytes());
        Self(server.tag(&[b"mail", b"provider", source, inbox, id.as_bytes()]))
    }

    /// The key as the database stores it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A message that is not recorded yet, with what was found in it.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The id of the row, if the key is new.
    pub id: MessageId,
    /// The inbox it was sent to.
    pub inbox: InboxId,
    /// Its deduplication key.
    pub key: MessageKey,
    /// A second deduplication key, if the provider gives mails an id.
    pub provider_key: Option<MessageKey>,
    /// The sender it names.
    pub sender: Sender,
    /// What was unusual about it, as slugs from a closed list.
    pub flags: Vec<String>,
    /// When the provider received it, if the provider says so. A time later than the
    /// delivery was recorded is not believed.
    pub received_at: Option<Timestamp>,
    /// What was found in it: at least one item, even if its kind is `Nothing`. None if a
    /// rule dropped it.
    pub artifacts: Vec<NewArtifact>,
    /// The open attempts that it gives nothing to, and why.
    pub misses: Vec<Miss>,
    /// What rules did with it, and what a reply to it needs.
    pub handling: Handling,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_key_depends_on_inbox_message_id_and_content() {
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
    fn provider_key_depends_on_source_inbox_and_id() {
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
    fn message_key_depends_on_the_server_key() {
        let inbox: InboxId = "a@inbox.test".parse().unwrap();
        let key_of =
            |server| MessageKey::new(&ServerKey::new([server; 32]), &inbox, None, &[0; 32]);
        assert_ne!(key_of(1), key_of(2));
    }
}
