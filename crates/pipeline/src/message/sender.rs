//! Who a mail says it is from, and whether that is proven.

use crate::Reason;

/// The sender of a mail, in the bounded form that an agent may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The address, when it fits the bounded form.
    pub address: Option<String>,
    /// Its domain, in ASCII.
    pub domain: Option<String>,
    /// Whether the mail is proven to come from that domain.
    pub proof: SenderProof,
}

/// Whether a mail is proven to come from the domain that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderProof {
    /// The provider says so, inside of what it signed.
    Provider,
    /// A signature of that domain over the mail holds.
    Dkim,
    /// It is not, for this reason.
    Missing(Reason),
}

impl SenderProof {
    /// Whether there is one.
    pub fn holds(&self) -> bool {
        !matches!(self, Self::Missing(_))
    }

    /// The word the databases and the feed use: what proves it, or why nothing does.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Provider => "provider",
            Self::Dkim => "dkim",
            Self::Missing(reason) => reason.as_str(),
        }
    }

    /// What is behind a stored word.
    pub fn from_stored(word: &str) -> Self {
        match word {
            "provider" => Self::Provider,
            "dkim" => Self::Dkim,
            reason => Self::Missing(Reason::from_stored(reason)),
        }
    }
}

/// Nobody has looked.
impl Default for SenderProof {
    fn default() -> Self {
        Self::Missing(Reason::new("unchecked"))
    }
}
