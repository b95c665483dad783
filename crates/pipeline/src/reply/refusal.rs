//! Why a message is not answered.

/// Why a message is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyRefusal {
    /// It is a copy of a mail that was sent here.
    OwnEcho,
    /// It comes from an address of a configured sender.
    OwnAddress,
    /// A machine sent it.
    Automated,
    /// A mailing list sent it.
    List,
    /// A rule says so.
    Rule,
    /// Its sender's address says that it reads no mail.
    NoReplyAddress,
    /// It names no sender that can be answered.
    NoSender,
    /// Its sender is not proven and not on the sender's list of recipients.
    SenderUnproven,
    /// It asks to answer to another address, which is not on the list of recipients.
    ReplyToDiffers,
    /// What a reply needs was not kept, or was deleted.
    NotKept,
    /// A mail of ours followed it in its thread.
    AnsweredSince,
}

impl ReplyRefusal {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::OwnEcho,
        Self::OwnAddress,
        Self::Automated,
        Self::List,
        Self::Rule,
        Self::NoReplyAddress,
        Self::NoSender,
        Self::SenderUnproven,
        Self::ReplyToDiffers,
        Self::NotKept,
        Self::AnsweredSince,
    ];

    /// The word used in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnEcho => "own_echo",
            Self::OwnAddress => "own_address",
            Self::Automated => "automated",
            Self::List => "list",
            Self::Rule => "rule",
            Self::NoReplyAddress => "no_reply_address",
            Self::NoSender => "no_sender",
            Self::SenderUnproven => "sender_unproven",
            Self::ReplyToDiffers => "reply_to_differs",
            Self::NotKept => "not_kept",
            Self::AnsweredSince => "answered_since",
        }
    }

    /// The reason with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}
