//! What a recorded body turns out to hold.

use std::fmt;

use pipeline::{Class, Reason, Timestamp};

use crate::letter::Letter;
use crate::{Confirmation, RemoteMail};

/// One mail goes to no more inboxes than this.
const MOST_RECIPIENTS: usize = 100;

/// One mail as it came in, with the addresses it was delivered to.
#[derive(Clone, PartialEq, Eq)]
pub struct InboundMail {
    /// The envelope's recipients, not the `To:` header; unparsed.
    pub recipients: Vec<String>,
    /// The message as RFC 822 bytes.
    pub raw: Vec<u8>,
    /// Whether we built `raw` from parsed fields because the provider does not
    /// hand over the original.
    pub rebuilt: bool,
    /// The provider's own id for it, where webhook and API name it alike and the
    /// sender has no say in it.
    pub provider_id: Option<String>,
    /// When the provider received it, if the payload says so.
    pub received_at: Option<Timestamp>,
    /// Whom the provider says it is from, where it says so besides the message;
    /// the message counts, and a difference is worth a mark.
    pub stated_from: Option<String>,
    /// What the provider has found about the sender, if it says so.
    pub sender: Option<SenderVerdict>,
}

/// What a provider says about the sender of a mail, inside of what it signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderVerdict {
    /// The mail comes from the domain it names, by DMARC.
    Proven,
    /// It does not.
    Refuted,
    /// Signatures of these domains hold; whether they speak for the sender is for
    /// whoever knows the sender.
    SignedBy(Vec<String>),
}

/// Without anything that somebody wrote, which no log may hold.
impl fmt::Debug for InboundMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboundMail")
            .field("recipients", &self.recipients.len())
            .field("bytes", &self.raw.len())
            .field("rebuilt", &self.rebuilt)
            .field("received_at", &self.received_at)
            .finish_non_exhaustive()
    }
}

impl InboundMail {
    /// A mail whose original bytes the provider hands over.
    pub(crate) fn original(recipients: Vec<String>, raw: Vec<u8>) -> Result<Self, DecodeError> {
        Self::addressed(recipients, raw, false)
    }

    /// A mail that had to be put together from parsed fields.
    pub(crate) fn rebuilt(
        recipients: Vec<String>,
        letter: &Letter<'_>,
    ) -> Result<Self, DecodeError> {
        Self::addressed(recipients, letter.build(), true)
    }

    /// The same mail, received at this moment as its provider says.
    #[must_use]
    pub(crate) fn received(self, at: Option<Timestamp>) -> Self {
        Self {
            received_at: at,
            ..self
        }
    }

    /// The same mail, which the provider knows by this id.
    #[must_use]
    pub(crate) fn known_as(self, id: Option<&str>) -> Self {
        let provider_id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        Self {
            provider_id,
            ..self
        }
    }

    /// The same mail, which the provider says is from this address.
    pub(crate) fn stated_from(self, from: Option<&str>) -> Self {
        Self {
            stated_from: from.map(str::to_owned),
            ..self
        }
    }

    /// The same mail, about whose sender the provider says this.
    pub(crate) fn sender(self, verdict: Option<SenderVerdict>) -> Self {
        Self {
            sender: verdict,
            ..self
        }
    }

    fn addressed(
        recipients: Vec<String>,
        raw: Vec<u8>,
        rebuilt: bool,
    ) -> Result<Self, DecodeError> {
        match recipients.len() {
            0 => Err(DecodeError::NoRecipient),
            1..=MOST_RECIPIENTS => Ok(Self {
                recipients,
                raw,
                rebuilt,
                provider_id: None,
                received_at: None,
                stated_from: None,
                sender: None,
            }),
            _ => Err(DecodeError::TooManyRecipients),
        }
    }
}

/// What a delivery is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// Inbound mail, one or many.
    Mails(Vec<InboundMail>),
    /// One inbound mail that has to be fetched first.
    RemoteMail(RemoteMail),
    /// A subscription that the provider wants confirmed before it posts mail.
    Confirm(Confirmation),
    /// Something else that the provider also posts, and which it was.
    Ignored(Reason),
}

/// An authentic body cannot be read. The same bytes fail for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There is no body.
    #[error("the body is empty")]
    Empty,
    /// It is not what its type says, or lacks what every such body has.
    #[error("the payload is malformed")]
    Malformed,
    /// An object names a field twice; two readers could believe different ones.
    #[error("an object has the same key twice")]
    DuplicateKey,
    /// It has more fields than any provider sends.
    #[error("the payload has too many fields")]
    TooManyFields,
    /// The message is not base64 where it must be.
    #[error("the message is not base64")]
    NotBase64,
    /// The message is in a bucket that is not the source's.
    #[error("the message is in another bucket")]
    BucketForeign,
    /// It names nobody as recipient.
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

    /// An event that is not about inbound mail.
    pub(crate) fn other_event() -> Self {
        Self::Ignored(Reason::new("event_ignored"))
    }
}

impl DecodeError {
    /// Whether trying again may help; it never does.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_mail_prints() {
        let mail = InboundMail::original(vec!["canary@b.test".to_owned()], b"Canary".to_vec());
        let mail = mail.unwrap().stated_from(Some("canary"));
        let printed = format!("{mail:?}").to_lowercase();
        assert!(
            !printed.contains("canary") && !printed.contains("97"),
            "{printed}"
        );
    }
}
