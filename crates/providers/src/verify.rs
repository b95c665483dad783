//! What a proof of origin is, and the ways to fail it.

use pipeline::{ContentDigest, DeliveryKey};

/// How much of a post its proof covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// The body: whoever made the proof has written these bytes.
    Body,
    /// A token that is used once: whoever has seen it can send another body,
    /// which is told from a retry by its content and refused.
    TokenOnly,
    /// A password: whoever has it can send anything.
    Password,
}

/// A post whose origin is proven. Only a verifier of this crate can make one,
/// so what takes a `Verified` cannot be handed an unproven post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    key: DeliveryKey,
    content: ContentDigest,
    coverage: Coverage,
}

impl Verified {
    pub(crate) fn new(key: DeliveryKey, content: ContentDigest, coverage: Coverage) -> Self {
        Self {
            key,
            content,
            coverage,
        }
    }

    /// What the delivery is deduplicated by.
    pub fn key(&self) -> DeliveryKey {
        self.key
    }

    /// What tells a retry from another delivery under a reused id.
    pub fn content(&self) -> ContentDigest {
        self.content
    }

    /// How much of the post the proof covers.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }
}

/// The origin is not proven. The sender learns only that; which of these it
/// was goes to the meters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A header that carries the proof is not there.
    #[error("a signature header is missing")]
    HeaderMissing,
    /// A header that carries the proof came more than once.
    #[error("a signature header came more than once")]
    HeaderRepeated,
    /// Headers of two naming schemes came in one post.
    #[error("signature headers of two families are mixed")]
    FamiliesMixed,
    /// The delivery's id has a form that the provider never sends.
    #[error("the delivery id is malformed")]
    IdMalformed,
    /// The timestamp is not one.
    #[error("the timestamp is malformed")]
    TimestampMalformed,
    /// The signature header is too long, or lists too many signatures.
    #[error("the signature header is too large")]
    SignatureTooLarge,
    /// No signature of a known version and form is there.
    #[error("no signature of a known form")]
    SignatureUnknown,
    /// No signature was made with a live secret over these bytes.
    #[error("the signature does not match")]
    SignatureMismatch,
    /// The password in front of the proof is wrong.
    #[error("the credentials do not match")]
    Credentials,
    /// The token was used before, with another body.
    #[error("the token was used before")]
    Replayed,
    /// The body does not hold the proof that this provider puts there.
    #[error("the body does not hold its proof")]
    ProofMissing,
    /// The topic is not one of the source's: whoever has an account at the
    /// provider can sign for a topic of their own.
    #[error("the topic is not one of the source's")]
    TopicForeign,
    /// It names a certificate at a place that is not the provider's.
    #[error("the certificate is not at the provider's own place")]
    CertificateForeign,
    /// The certificate was not got for it.
    #[error("the certificate is not at hand")]
    CertificateMissing,
    /// It comes from an address that is not listed.
    #[error("the sender's address is not listed")]
    AddressForeign,
    /// The proof is good and too old, or from the future.
    #[error("the timestamp is outside the tolerance")]
    Stale,
}

impl VerifyError {
    /// The failure as a word for meters.
    pub fn reason(self) -> &'static str {
        match self {
            Self::HeaderMissing => "header_missing",
            Self::HeaderRepeated => "header_repeated",
            Self::FamiliesMixed => "families_mixed",
            Self::IdMalformed => "id_malformed",
            Self::TimestampMalformed => "timestamp_malformed",
            Self::SignatureTooLarge => "signature_too_large",
            Self::SignatureUnknown => "signature_unknown",
            Self::SignatureMismatch => "signature_mismatch",
            Self::Credentials => "credentials",
            Self::Replayed => "token_replayed",
            Self::ProofMissing => "proof_missing",
            Self::TopicForeign => "topic_foreign",
            Self::CertificateForeign => "certificate_foreign",
            Self::CertificateMissing => "certificate_missing",
            Self::AddressForeign => "address_foreign",
            Self::Stale => "stale",
        }
    }
}
