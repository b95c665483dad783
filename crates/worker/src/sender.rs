//! Whether a mail comes from the domain that it names. Two things can prove it: a
//! verdict of the provider, inside what the provider signed, or a DKIM signature.
//!
//! An `Authentication-Results` field in the mail proves nothing: anybody can write
//! one.

mod coverage;
mod dkim;

use std::sync::Arc;

use pipeline::{Reason, SenderProof, Timestamp};
use providers::SenderVerdict;

use coverage::is_aligned;
use dkim::DkimCheck;

pub use dkim::{Dkim, DkimError};

/// What the proof of a sender is looked for in.
pub(crate) struct Evidence<'e> {
    /// The mail as it was received. `None` when it was rebuilt from parsed fields,
    /// which no signature covers.
    pub(crate) raw: Option<Arc<Vec<u8>>>,
    /// The provider's verdict.
    pub(crate) verdict: Option<&'e SenderVerdict>,
    /// The sender's domain, in ASCII.
    pub(crate) domain: Option<&'e str>,
    /// When the mail was received.
    pub(crate) received_at: Timestamp,
}

/// The result of looking for a proof.
pub(crate) enum ProofResult {
    /// The sender is proven, or it is known why not.
    Known(SenderProof),
    /// The DNS did not answer; a later attempt may succeed.
    NotNow,
}

impl ProofResult {
    fn missing(slug: &'static str) -> Self {
        Self::Known(SenderProof::Missing(Reason::new(slug)))
    }
}

/// Looks for a proof of a mail's sender.
pub(crate) async fn prove(dkim: Option<&Dkim>, evidence: Evidence<'_>) -> ProofResult {
    let Some(domain) = evidence.domain else {
        return ProofResult::missing("sender_odd");
    };
    let is_senders = |signer: &String| is_aligned(signer, domain);
    match evidence.verdict {
        Some(SenderVerdict::Proven) => return ProofResult::Known(SenderProof::Provider),
        Some(SenderVerdict::Refuted) => return ProofResult::missing("provider_refuted"),
        Some(SenderVerdict::SignedBy(signers)) if signers.iter().any(is_senders) => {
            return ProofResult::Known(SenderProof::Provider);
        }
        Some(SenderVerdict::SignedBy(_)) | None => {}
    }
    let Some(raw) = evidence.raw else {
        return ProofResult::missing("rebuilt");
    };
    let Some(dkim) = dkim else {
        return ProofResult::missing("unchecked");
    };
    match dkim
        .check(raw, domain.to_owned(), evidence.received_at)
        .await
    {
        DkimCheck::Valid => ProofResult::Known(SenderProof::Dkim),
        DkimCheck::Invalid(reason) => ProofResult::missing(reason),
        DkimCheck::DnsUnavailable => ProofResult::NotNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a verdict proves about a mail from `mail.example.com`, without any DNS.
    async fn proof(verdict: Option<SenderVerdict>, is_rebuilt: bool) -> String {
        let evidence = Evidence {
            raw: (!is_rebuilt).then(Arc::default),
            verdict: verdict.as_ref(),
            domain: Some("mail.example.com"),
            received_at: Timestamp::from_millis(0),
        };
        match prove(None, evidence).await {
            ProofResult::Known(proof) => proof.as_str().to_owned(),
            ProofResult::NotNow => "not now".to_owned(),
        }
    }

    fn signed_by(domain: &str) -> SenderVerdict {
        SenderVerdict::SignedBy(vec![domain.to_owned()])
    }

    #[tokio::test]
    async fn provider_verdict_proves_or_refutes_the_senders_domain() {
        assert_eq!(proof(Some(SenderVerdict::Proven), true).await, "provider");
        assert_eq!(
            proof(Some(signed_by("Example.com")), true).await,
            "provider"
        );
        let refuted = proof(Some(SenderVerdict::Refuted), false).await;
        assert_eq!(refuted, "provider_refuted");
    }

    #[tokio::test]
    async fn signature_of_another_domain_proves_nothing() {
        for other in [
            "evil.test",
            "com",
            "example.com.evil.test",
            "notexample.com",
        ] {
            assert_eq!(
                proof(Some(signed_by(other)), false).await,
                "unchecked",
                "{other}"
            );
        }
        assert_eq!(proof(None, true).await, "rebuilt");
    }
}
