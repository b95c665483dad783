//! The sender that a mail names, and whether it is proven.

use crate::Reason;

/// The sender of a mail, in the bounded form that an agent may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The address, if it has the bounded form that may be shown.
    pub address: Option<String>,
    /// Its domain, in ASCII.
    pub domain: Option<String>,
    /// Whether the mail is proven to come from that domain.
    pub proof: SenderProof,
}

/// Whether a mail is proven to come from the domain that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderProof {
    /// The provider reports it, in the part of the post that it signed.
    Provider,
    /// The mail has a valid DKIM signature of that domain.
    Dkim,
    /// It is not proven, for this reason.
    Missing(Reason),
}

impl SenderProof {
    /// Every word that an agent can get for a sender, with its meaning.
    pub const FOR_AGENTS: &'static [(&'static str, &'static str)] = &[
        ("provider", "proven: the provider signed its own check"),
        (
            "dkim",
            "proven: a valid DKIM signature of the sender's domain",
        ),
        (
            "not_addressed",
            "the signature is valid, but the mail was signed for another recipient",
        ),
        ("no_signature", "there is no signature"),
        ("not_aligned", "no signature is of the sender's domain"),
        ("signature_failed", "the signature is wrong"),
        ("signature_unfit", "the signature leaves something out"),
        ("signature_stale", "the signature is too old"),
        ("signature_unreadable", "the signature cannot be read"),
        ("key_missing", "the public key does not exist"),
        ("dns_away", "DNS did not answer"),
        (
            "provider_refuted",
            "the provider says that the sender is forged",
        ),
        ("sender_odd", "the `From` field does not name one sender"),
        ("rebuilt", "the provider passed on no original mail"),
        ("unchecked", "nothing was checked"),
        ("unknown", "a word that this server cannot show"),
    ];

    /// Whether the sender is proven.
    pub fn holds(&self) -> bool {
        !matches!(self, Self::Missing(_))
    }

    /// The word used in the database and in the API: what proves it, or why nothing
    /// does.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Provider => "provider",
            Self::Dkim => "dkim",
            Self::Missing(reason) => reason.as_str(),
        }
    }

    /// The proof with this stored word.
    pub fn from_stored(word: &str) -> Self {
        match word {
            "provider" => Self::Provider,
            "dkim" => Self::Dkim,
            reason => Self::Missing(Reason::from_stored(reason)),
        }
    }
}

/// Not checked.
impl Default for SenderProof {
    fn default() -> Self {
        Self::Missing(Reason::new("unchecked"))
    }
}
