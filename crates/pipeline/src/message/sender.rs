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
