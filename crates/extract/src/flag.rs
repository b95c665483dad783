//! What was odd about a mail.

use crate::mail::Bodies;
use crate::reading::Reading;
use crate::sender::Stated;
use crate::structure::Structure;

/// A remark about a mail. Flags never carry text of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Not exactly one From field with exactly one mailbox.
    FromAmbiguous,
    /// No usable Message-ID; the content digest has to serve.
    SyntheticMessageId,
    /// A header field was too long and was left out.
    HeaderDropped,
    /// More text than is examined.
    Truncated,
    /// A boundary in mid-line, or a part without an end.
    StructureDamaged,
    /// The HTML holds text that a reader does not see.
    HiddenText,
    /// Invisible characters stood inside a word or a number.
    InvisibleCharacters,
    /// Digits of another script than ASCII were read.
    ForeignDigits,
    /// The sender's domain is an international one.
    Idn,
    /// An automatic reply.
    AutoReply,
    /// The sender is also the recipient.
    SelfSent,
    /// The body is that of a forwarded mail.
    Forwarded,
    /// A link shows one host and leads to another.
    TextHostMismatch,
    /// There were further action links that were not allowed.
    OtherLinks,
    /// A link goes through a tracker that cannot be read offline.
    OpaqueLinks,
}

impl Flag {
    /// The stable word for tables, metrics and feeds.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FromAmbiguous => "from_ambiguous",
            Self::SyntheticMessageId => "synthetic_message_id",
            Self::HeaderDropped => "header_dropped",
            Self::Truncated => "truncated",
            Self::StructureDamaged => "structure_damaged",
            Self::HiddenText => "hidden_text",
            Self::InvisibleCharacters => "invisible_characters",
            Self::ForeignDigits => "foreign_digits",
            Self::Idn => "idn",
            Self::AutoReply => "auto_reply",
            Self::SelfSent => "self_sent",
            Self::Forwarded => "forwarded",
            Self::TextHostMismatch => "text_host_mismatch",
            Self::OtherLinks => "other_links",
            Self::OpaqueLinks => "opaque_links",
        }
    }
}

/// The flags of a mail as a whole.
pub(crate) fn of_mail(
    structure: &Structure<'_>,
    stated: &Stated,
    bodies: &Bodies,
    readings: &[Reading],
) -> Vec<Flag> {
    let dropped =
        structure.headers.dropped || structure.leaves.iter().any(|leaf| leaf.headers.dropped);
    let hidden = readings
        .iter()
        .any(|reading| reading.hidden.chars().any(char::is_alphanumeric));
    let holds = [
        (stated.ambiguous, Flag::FromAmbiguous),
        (stated.idn, Flag::Idn),
        (stated.is_recipient(&structure.headers), Flag::SelfSent),
        (dropped, Flag::HeaderDropped),
        (structure.damaged, Flag::StructureDamaged),
        (is_auto_reply(structure), Flag::AutoReply),
        (bodies.forwarded, Flag::Forwarded),
        (hidden, Flag::HiddenText),
        (
            readings.iter().any(|reading| reading.truncated),
            Flag::Truncated,
        ),
        (
            readings.iter().any(|reading| reading.folded.has_invisible),
            Flag::InvisibleCharacters,
        ),
        (
            readings
                .iter()
                .any(|reading| reading.folded.has_foreign_digits),
            Flag::ForeignDigits,
        ),
    ];
    holds
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, flag)| flag)
        .collect()
}

/// Replies, not what is merely sent by a machine: every code is that.
fn is_auto_reply(structure: &Structure<'_>) -> bool {
    let says = |name: &str, word: &[u8]| {
        structure
            .headers
            .all(name)
            .any(|value| value.trim_ascii().to_ascii_lowercase().starts_with(word))
    };
    says("Auto-Submitted", b"auto-replied")
        || says("Precedence", b"auto_reply")
        || says("X-Autoreply", b"yes")
        || says("X-Autorespond", b"")
        || says("X-Auto-Response-Suppress", b"") && says("In-Reply-To", b"<")
}
