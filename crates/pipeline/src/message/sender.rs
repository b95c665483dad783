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

/// The longest name of DNS.
pub const MAX_DOMAIN: usize = 253;

/// The reason of a mail whose sender's domain is not in the list.
pub const SENDER_NOT_ALLOWED: Reason = Reason::new("sender_not_allowed");
/// The reason of a mail whose sender must be proven and is not.
pub const SENDER_NOT_VERIFIED: Reason = Reason::new("sender_not_verified");

/// Why a sender is not accepted, if so. An empty list allows every sender, even one
/// without a domain. A sender that the provider calls forged is never accepted.
pub fn refuse_sender(
    domain: Option<&str>,
    proof: &SenderProof,
    allowed: &[String],
    needs_proof: bool,
) -> Option<Reason> {
    if !is_allowed(domain, allowed) {
        return Some(SENDER_NOT_ALLOWED);
    }
    let is_unfit = *proof == SenderProof::REFUTED || needs_proof && !proof.holds();
    is_unfit.then_some(SENDER_NOT_VERIFIED)
}

/// Whether the domain is in the list or below an entry.
fn is_allowed(domain: Option<&str>, allowed: &[String]) -> bool {
    let is_below = |domain: &str, parent: &String| {
        domain
            .strip_suffix(parent.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    allowed.is_empty()
        || domain.is_some_and(|domain| allowed.iter().any(|parent| is_below(domain, parent)))
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
    /// The provider says that the sender is forged.
    pub const REFUTED: Self = Self::Missing(Reason::new("provider_refuted"));

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
        (
            "signature_unchecked",
            "there are more signatures than are checked, and the first ones are wrong",
        ),
        ("key_missing", "the public key does not exist"),
        (
            "key_unfit",
            "the public key is withdrawn, a test, too short or not for mail",
        ),
        ("dns_away", "DNS did not answer"),
        ("check_late", "the signature was not checked in time"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sender_that_its_provider_calls_forged_is_never_accepted() {
        let refusal = |proof: &SenderProof, needs_proof| {
            refuse_sender(Some("example.com"), proof, &[], needs_proof)
        };
        let unchecked = SenderProof::default();
        assert_eq!(refusal(&unchecked, false), None);
        assert_eq!(refusal(&unchecked, true), Some(SENDER_NOT_VERIFIED));
        for needs_proof in [false, true] {
            let refused = refusal(&SenderProof::REFUTED, needs_proof);
            assert_eq!(refused, Some(SENDER_NOT_VERIFIED));
        }
    }

    #[test]
    fn sender_domain_matches_on_dot_boundaries() {
        let allowed = ["example.com".to_owned()];
        for domain in ["example.com", "mail.example.com"] {
            assert!(is_allowed(Some(domain), &allowed), "{domain}");
        }
        for domain in ["badexample.com", "example.com.evil.test", "com", ""] {
            assert!(!is_allowed(Some(domain), &allowed), "{domain}");
        }
        assert!(!is_allowed(None, &allowed));
        assert!(is_allowed(None, &[]));
    }
}
