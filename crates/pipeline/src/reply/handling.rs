//! What is kept of a message so that it can be answered, and explained.

use crate::{ReplyRefusal, ThreadId};

/// What rules did with a message, and what a reply to it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handling {
    /// What rules did, such as `config.newsletters:label`.
    pub rules: Vec<String>,
    /// Why it is not answered.
    pub no_reply: Option<ReplyRefusal>,
    /// Its thread, and a digest of the person who wrote it.
    pub thread: Option<(ThreadId, [u8; 16])>,
    /// Whether it was written in our name: a mail from a sender's own address. It
    /// counts as a mail of ours that followed the others of its thread.
    pub is_ours: bool,
    /// What a reply repeats; `None` if it is not answered.
    pub context: Option<ReplyContext>,
}

impl Handling {
    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a reply repeats of the mail that it answers. It is stored sealed, and no agent
/// ever gets it.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReplyContext {
    /// The address of the sender.
    pub from: String,
    /// The address in `Reply-To`, if it is another one.
    pub reply_to: Option<String>,
    /// The Message-ID, with its brackets.
    pub message_id: Option<String>,
    /// The ids that it refers to, with their brackets.
    pub references: Vec<String>,
    /// The subject, in one line.
    pub subject: String,
}

/// Logs never show a mail.
impl std::fmt::Debug for ReplyContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplyContext(…)")
    }
}
