//! What is unusual about a mail.

use crate::mail::Bodies;
use crate::property::is_alphanumeric;
use crate::reading::Reading;
use crate::sender::Stated;
use crate::steps::Steps;
use crate::structure::Structure;

/// Something unusual about a mail. Flags never hold text of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Not exactly one From field with exactly one mailbox.
    FromAmbiguous,
    /// No usable Message-ID; the content digest identifies the mail.
    SyntheticMessageId,
    /// A header field was too long and was ignored.
    HeaderDropped,
    /// The mail has more text than is examined.
    Truncated,
    /// A boundary in the middle of a line, or a part without an end.
    StructureDamaged,
    /// The HTML holds text that a person would not see.
    HiddenText,
    /// A word or a number contains invisible characters.
    InvisibleCharacters,
    /// The mail has digits other than ASCII.
    ForeignDigits,
    /// The sender's domain is an international name.
    Idn,
    /// An automatic reply.
    AutoReply,
    /// The sender is also the recipient.
    SelfSent,
    /// The body is that of a forwarded mail.
    Forwarded,
    /// A link shows one host and leads to another.
    TextHostMismatch,
    /// The mail has further action links that are not allowed.
    OtherLinks,
    /// A link is a tracking link whose target cannot be read offline.
    OpaqueLinks,
}

impl Flag {
    /// The stable public word.
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

/// The flags that do not depend on a policy.
pub(crate) fn of_mail(
    structure: &Structure<'_>,
    stated: &Stated,
    bodies: &Bodies,
    readings: &[Reading],
    steps: &Steps<'_>,
) -> Vec<Flag> {
    let dropped =
        structure.headers.dropped || structure.leaves.iter().any(|leaf| leaf.headers.dropped);
    let hidden = readings
        .iter()
        .any(|reading| reading.hidden.chars().any(is_alphanumeric));
    let holds = [
        (stated.ambiguous, Flag::FromAmbiguous),
        (stated.idn, Flag::Idn),
        (
            stated.is_recipient(&structure.headers, steps),
            Flag::SelfSent,
        ),
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

/// Whether the mail answers another mail. Being sent by a machine is not enough:
/// every verification mail is.
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
