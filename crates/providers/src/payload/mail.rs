//! One mail, as a body holds it.

use std::fmt;

use pipeline::Timestamp;

use super::DecodeError;
use super::rebuilt_message::RebuiltMessage;

/// One mail goes to no more inboxes than this.
const MOST_RECIPIENTS: usize = 100;

/// One mail as it came in, with the addresses it was delivered to.
#[derive(Clone, PartialEq, Eq)]
pub struct InboundMail {
    /// The recipients of the envelope, not of the `To:` header; unparsed.
    pub recipients: Vec<String>,
    /// The message as RFC 822 bytes.
    pub raw: Vec<u8>,
    /// Whether `raw` was rebuilt from parsed fields, because the provider does not
    /// send the original.
    pub rebuilt: bool,
    /// The provider's own id for it, if webhook and API use the same id and the
    /// sender cannot choose it.
    pub provider_id: Option<String>,
    /// When the provider received it, if the payload says so.
    pub received_at: Option<Timestamp>,
    /// The sender that the provider states besides the message. The message counts;
    /// a difference becomes a flag.
    pub stated_from: Option<String>,
    /// What the provider has found out about the sender, if it says so.
    pub sender: Option<SenderVerdict>,
    /// What else the provider has found out about the mail, as flags for the agent.
    pub flags: Vec<&'static str>,
}

/// The flag of a mail that the provider takes for spam.
pub(crate) const SPAM: &str = "provider_spam";
/// The flag of a mail in which the provider has found a virus.
pub(crate) const VIRUS: &str = "provider_virus";
/// The flag of a mail that a rule at the provider blocks.
pub(crate) const BLOCKED: &str = "provider_blocked";

/// What a provider says about the sender of a mail, in the part of the post that it
/// signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderVerdict {
    /// The mail passed DMARC for the domain it names as its sender.
    Proven,
    /// The mail failed DMARC.
    Refuted,
    /// DKIM signatures of these domains are valid. Whether such a domain may sign for
    /// the sender is decided later.
    SignedBy(Vec<String>),
}

/// Prints nothing that the sender wrote, because logs must not hold it.
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
    /// A mail whose original bytes the provider sends.
    pub(crate) fn original(recipients: Vec<String>, raw: Vec<u8>) -> Result<Self, DecodeError> {
        Self::addressed(recipients, raw, false)
    }

    /// A mail that had to be rebuilt from parsed fields.
    pub(crate) fn rebuilt(
        recipients: Vec<String>,
        message: &RebuiltMessage<'_>,
    ) -> Result<Self, DecodeError> {
        Self::addressed(recipients, message.build(), true)
    }

    /// Sets when the provider received the mail.
    #[must_use]
    pub(crate) fn received(self, at: Option<Timestamp>) -> Self {
        Self {
            received_at: at,
            ..self
        }
    }

    /// Sets the provider's id of the mail.
    #[must_use]
    pub(crate) fn known_as(self, id: Option<&str>) -> Self {
        let provider_id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        Self {
            provider_id,
            ..self
        }
    }

    /// Sets the sender that the provider states.
    #[must_use]
    pub(crate) fn stated_from(self, from: Option<&str>) -> Self {
        Self {
            stated_from: from.map(str::to_owned),
            ..self
        }
    }

    /// Sets the provider's verdict about the sender.
    #[must_use]
    pub(crate) fn sender(self, verdict: Option<SenderVerdict>) -> Self {
        Self {
            sender: verdict,
            ..self
        }
    }

    /// Sets what else the provider has found out.
    #[must_use]
    pub(crate) fn flagged(self, flags: Vec<&'static str>) -> Self {
        Self { flags, ..self }
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
                flags: Vec::new(),
            }),
            _ => Err(DecodeError::TooManyRecipients),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_holds_nothing_of_the_mail() {
        let mail = InboundMail::original(vec!["canary@b.test".to_owned()], b"Canary".to_vec());
        let mail = mail.unwrap().stated_from(Some("canary"));
        let printed = format!("{mail:?}").to_lowercase();
        assert!(
            !printed.contains("canary") && !printed.contains("97"),
            "{printed}"
        );
    }
}
