//! Whether a mail comes from the domain it names: by the word of the provider,
//! from inside of what the provider signed, or else by a DKIM signature.
//!
//! An `Authentication-Results` field in the mail is a stranger's text like any
//! other and proves nothing.

use std::sync::Arc;

use pipeline::{Reason, SenderProof, Timestamp};
use providers::SenderVerdict;

use crate::coverage::is_aligned;
use crate::dkim::{Dkim, Signed};

/// What there is to go by besides the mail.
pub(crate) struct Evidence<'e> {
    /// The mail as it came; `None` when it was put together from parsed fields, which
    /// no signature covers.
    pub(crate) raw: Option<Arc<Vec<u8>>>,
    /// What the provider says.
    pub(crate) verdict: Option<&'e SenderVerdict>,
    /// The sender's domain, in ASCII.
    pub(crate) domain: Option<&'e str>,
    /// When the mail was received.
    pub(crate) received_at: Timestamp,
}

/// What came of looking for a proof.
pub(crate) enum Proved {
    /// This is known.
    Known(SenderProof),
    /// The DNS did not answer; another time it may.
    NotNow,
}

impl Proved {
    fn missing(slug: &'static str) -> Self {
        Self::Known(SenderProof::Missing(Reason::new(slug)))
    }
}

/// Looks for a proof of a mail's sender.
pub(crate) async fn prove(dkim: Option<&Dkim>, evidence: Evidence<'_>) -> Proved {
    let Some(domain) = evidence.domain else {
        return Proved::missing("sender_odd");
    };
    let speaks = |signer: &String| is_aligned(signer, domain);
    match evidence.verdict {
        Some(SenderVerdict::Proven) => return Proved::Known(SenderProof::Provider),
        Some(SenderVerdict::Refuted) => return Proved::missing("provider_refuted"),
        Some(SenderVerdict::SignedBy(signers)) if signers.iter().any(speaks) => {
            return Proved::Known(SenderProof::Provider);
        }
        Some(SenderVerdict::SignedBy(_)) | None => {}
    }
    let Some(raw) = evidence.raw else {
        return Proved::missing("rebuilt");
    };
    let Some(dkim) = dkim else {
        return Proved::missing("unchecked");
    };
    match dkim
        .check(raw, domain.to_owned(), evidence.received_at)
        .await
    {
        Signed::Yes => Proved::Known(SenderProof::Dkim),
        Signed::No(reason) => Proved::missing(reason),
        Signed::DnsAway => Proved::NotNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a verdict proves of a mail from `mail.example.com`, without any DNS.
    async fn proof(verdict: Option<SenderVerdict>, is_rebuilt: bool) -> String {
        let evidence = Evidence {
            raw: (!is_rebuilt).then(Arc::default),
            verdict: verdict.as_ref(),
            domain: Some("mail.example.com"),
            received_at: Timestamp::from_millis(0),
        };
        match prove(None, evidence).await {
            Proved::Known(proof) => proof.as_str().to_owned(),
            Proved::NotNow => "not now".to_owned(),
        }
    }

    fn signed_by(domain: &str) -> SenderVerdict {
        SenderVerdict::SignedBy(vec![domain.to_owned()])
    }

    #[tokio::test]
    async fn the_providers_word_counts_for_the_senders_domain() {
        assert_eq!(proof(Some(SenderVerdict::Proven), true).await, "provider");
        assert_eq!(
            proof(Some(signed_by("Example.com")), true).await,
            "provider"
        );
        let refuted = proof(Some(SenderVerdict::Refuted), false).await;
        assert_eq!(refuted, "provider_refuted");
    }

    #[tokio::test]
    async fn a_signature_of_somebody_else_counts_for_nothing() {
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
