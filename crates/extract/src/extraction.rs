//! The answer: one artifact, or none and the reason.

use serde::Serialize;

/// One artifact, or none and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction<T> {
    /// Exactly one artifact, good enough to act on.
    Found(T),
    /// There is an artifact, and it is not safe to hand out.
    Withheld(AbstainReason),
    /// There is no artifact of the kind.
    Nothing(AbstainReason),
}

impl<T> Extraction<T> {
    /// The artifact, if there is one.
    pub fn found(&self) -> Option<&T> {
        match self {
            Self::Found(artifact) => Some(artifact),
            Self::Withheld(_) | Self::Nothing(_) => None,
        }
    }

    /// Why there is no artifact.
    pub fn reason(&self) -> Option<AbstainReason> {
        match self {
            Self::Found(_) => None,
            Self::Withheld(reason) | Self::Nothing(reason) => Some(*reason),
        }
    }
}

/// Something that is believed to be right with a probability.
pub trait Believed {
    /// 0 to 100.
    fn confidence(&self) -> u8;
}

impl Believed for Code {
    fn confidence(&self) -> u8 {
        self.confidence
    }
}

impl Believed for Link {
    fn confidence(&self) -> u8 {
        self.confidence
    }
}

impl<T: Believed> Extraction<T> {
    /// The same without an artifact that has less confidence than this.
    pub(crate) fn at_least(self, threshold: u8) -> Self {
        match self {
            Self::Found(artifact) if artifact.confidence() < threshold => {
                Self::Withheld(AbstainReason::NotConvincing)
            }
            other => other,
        }
    }
}

/// Why there is no artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AbstainReason {
    /// Nothing in the mail has the shape of an artifact.
    NoCandidate,
    /// There are candidates, and none has enough evidence, or less than the operator asks
    /// for.
    NotConvincing,
    /// Two candidates are about equally good.
    Ambiguous,
    /// The text and the HTML have different codes.
    PartsDisagree,
    /// The mail does not name exactly one sender.
    FromAmbiguous,
    /// The mail is longer than what was examined, or cut off at the artifact.
    Truncated,
    /// The mail is an automatic reply.
    AutoReply,
    /// The sender is also the recipient.
    SelfSent,
    /// A person may or may not see the artifact, so it may be hidden text.
    MaybeHidden,
    /// The code is of another kind: a discount, a booking, a meeting, a recovery list.
    OtherKind,
    /// The code consists of words, so it could carry a sentence.
    ReadsAsWords,
    /// The code does not have the form that the caller expects.
    NotExpected,
    /// The only action links deny, delete or unsubscribe.
    ProtectedLink,
    /// The action link leads to a host that is not allowed.
    HostNotAllowed,
    /// No agent may open the action link, whatever the allowlist says.
    UnsafeLink,
    /// The action link is a tracking link whose target cannot be read offline.
    WrappedOpaque,
}

impl AbstainReason {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::NoCandidate,
        Self::NotConvincing,
        Self::Ambiguous,
        Self::PartsDisagree,
        Self::FromAmbiguous,
        Self::Truncated,
        Self::AutoReply,
        Self::SelfSent,
        Self::MaybeHidden,
        Self::OtherKind,
        Self::ReadsAsWords,
        Self::NotExpected,
        Self::ProtectedLink,
        Self::HostNotAllowed,
        Self::UnsafeLink,
        Self::WrappedOpaque,
    ];

    /// The stable public word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoCandidate => "no_candidate",
            Self::NotConvincing => "not_convincing",
            Self::Ambiguous => "ambiguous",
            Self::PartsDisagree => "parts_disagree",
            Self::FromAmbiguous => "from_ambiguous",
            Self::Truncated => "truncated",
            Self::AutoReply => "auto_reply",
            Self::SelfSent => "self_sent",
            Self::MaybeHidden => "maybe_hidden",
            Self::OtherKind => "other_kind",
            Self::ReadsAsWords => "reads_as_words",
            Self::NotExpected => "not_expected",
            Self::ProtectedLink => "protected_link",
            Self::HostNotAllowed => "host_not_allowed",
            Self::UnsafeLink => "unsafe_link",
            Self::WrappedOpaque => "wrapped_opaque",
        }
    }
}

/// A one-time code.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Code {
    /// As printed: `123-456`, `G-123456`, `copper heron lamp`.
    pub value: String,
    /// Letters and digits only.
    pub compact: String,
    /// 0 to 100.
    pub confidence: u8,
    /// The rule that gave most of the evidence.
    pub rule: &'static str,
}

/// The link that does what the mail asks for.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Serialised again from its parsed form, with its fragment.
    pub url: String,
    /// The host in its ASCII form.
    pub host: String,
    /// The registrable domain of the host.
    pub registrable: String,
    /// What the link does.
    pub kind: LinkKind,
    /// The allowlist entry that matched, or `unlisted`.
    pub rule: String,
    /// The hosts of the wrappers taken off, outermost first.
    pub unwrapped: Vec<String>,
    /// 0 to 100.
    pub confidence: u8,
}

/// Values must not reach logs, so `{:?}` leaves the value out.
impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code")
            .field("value", &"***")
            .field("confidence", &self.confidence)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("url", &"***")
            .field("host", &self.host)
            .field("kind", &self.kind)
            .field("confidence", &self.confidence)
            .finish_non_exhaustive()
    }
}

/// What a link does. The last four kinds are protected: they are never returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// Confirms an address or activates an account.
    VerifyEmail,
    /// Signs in.
    MagicLogin,
    /// Sets a new password or recovers an account.
    PasswordReset,
    /// Joins an organisation, a team or a shared document.
    Invite,
    /// Confirms a change of address.
    EmailChange,
    /// Approves a sign-in on another device.
    ApproveSignin,
    /// Reports "this was not me", or revokes access.
    DenyOrRevoke,
    /// Deletes something.
    Delete,
    /// Leaves a mailing list.
    Unsubscribe,
    /// Does something that its words do not name.
    Unnamed,
    /// Help, privacy, social, shop, anything else.
    Other,
}

impl LinkKind {
    /// The stable public word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify_email",
            Self::MagicLogin => "magic_login",
            Self::PasswordReset => "password_reset",
            Self::Invite => "invite",
            Self::EmailChange => "email_change",
            Self::ApproveSignin => "approve_signin",
            Self::DenyOrRevoke => "deny_or_revoke",
            Self::Delete => "delete",
            Self::Unsubscribe => "unsubscribe",
            Self::Unnamed => "unnamed",
            Self::Other => "other",
        }
    }

    /// Whether the kind is never returned.
    pub fn is_protected(self) -> bool {
        matches!(
            self,
            Self::DenyOrRevoke | Self::Delete | Self::Unsubscribe | Self::Other
        )
    }
}
