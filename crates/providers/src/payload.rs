//! What a recorded body turns out to hold.

pub(crate) mod addressed_message;
pub(crate) mod form;
pub(crate) mod json;
pub(crate) mod mail;
pub(crate) mod rebuilt_message;
pub(crate) mod remote_mail;
pub(crate) mod sent_event;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{Class, Reason};

use mail::InboundMail;
use remote_mail::{Confirmation, RemoteMail};
use sent_event::SentEvent;

/// What a delivery is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// Inbound mail.
    Mails(Vec<InboundMail>),
    /// Several mails in one post. Each part is recorded as a delivery of its own, so that
    /// one bad mail does not affect the others.
    Batch(Vec<BatchPart>),
    /// One inbound mail that has to be fetched first.
    RemoteMail(RemoteMail),
    /// A subscription that the provider wants confirmed before it posts mail.
    Confirm(Confirmation),
    /// Events about mails that were sent here: the provider has accepted them.
    Sent(Vec<SentEvent>),
    /// Something else that the provider also posts; the reason says what.
    Ignored(Reason),
}

/// One mail of a post with several: a post of the same provider with this mail alone.
#[derive(Clone, PartialEq, Eq)]
pub struct BatchPart {
    /// The content type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// Without the body: bodies must not be logged.
impl fmt::Debug for BatchPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchPart")
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// An authentic body cannot be read. The same bytes always fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There is no body.
    #[error("the body is empty")]
    Empty,
    /// It does not match its content type, or a required field is missing.
    #[error("the payload is malformed")]
    Malformed,
    /// An object has a key twice; two readers could take different values.
    #[error("an object has the same key twice")]
    DuplicateKey,
    /// It has more fields than any provider sends.
    #[error("the payload has too many fields")]
    TooManyFields,
    /// The message should be base64 and is not.
    #[error("the message is not base64")]
    NotBase64,
    /// The message is in a bucket that is not the source's.
    #[error("the message is in another bucket")]
    BucketForeign,
    /// It names no recipient.
    #[error("the payload names no recipient")]
    NoRecipient,
    /// It names more recipients than one mail may have.
    #[error("the payload names too many recipients")]
    TooManyRecipients,
}

impl Decoded {
    /// One mail.
    pub(crate) fn mail(mail: InboundMail) -> Self {
        Self::Mails(vec![mail])
    }

    /// The same without the provider's verdicts about senders.
    #[must_use]
    pub(crate) fn without_verdicts(self) -> Self {
        match self {
            Self::Mails(mails) => {
                Self::Mails(mails.into_iter().map(|mail| mail.sender(None)).collect())
            }
            Self::RemoteMail(remote) => Self::RemoteMail(RemoteMail {
                sender: None,
                ..remote
            }),
            other => other,
        }
    }

    /// An event that is not about inbound mail.
    pub(crate) fn other_event() -> Self {
        Self::Ignored(Reason::new("event_ignored"))
    }
}

impl DecodeError {
    /// Always permanent: a retry reads the same bytes.
    pub fn class(self) -> Class {
        Class::Permanent
    }

    /// The failure as a word for the operator.
    pub fn reason(self) -> Reason {
        Reason::new(match self {
            Self::Empty => "empty_body",
            Self::Malformed => "payload_malformed",
            Self::DuplicateKey => "duplicate_key",
            Self::TooManyFields => "too_many_fields",
            Self::NotBase64 => "not_base64",
            Self::BucketForeign => "bucket_foreign",
            Self::NoRecipient => "no_recipient",
            Self::TooManyRecipients => "too_many_recipients",
        })
    }
}

/// Decodes base64 that may be broken into lines; anything else that is not strict
/// base64 is refused.
pub(crate) fn base64(encoded: &str) -> Result<Vec<u8>, DecodeError> {
    let unbroken: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    STANDARD.decode(unbroken).ok().ok_or(DecodeError::NotBase64)
}
