//! What proves where a post comes from, and the ways it can fail.

pub(crate) mod certificate;
pub(crate) mod freshness;
pub(crate) mod identity;
pub(crate) mod key;
pub(crate) mod request;
pub(crate) mod scheme;
pub(crate) mod signature;

use pipeline::{ContentDigest, DeliveryKey};

/// How much of a post its proof covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// The body: whoever made the proof wrote these bytes.
    Body,
    /// A token that is used once. Whoever has seen it can send another body; that body
    /// differs from the recorded one and is refused.
    TokenOnly,
    /// A password: whoever has it can send anything.
    Password,
}

/// A post whose origin is proven. Only a verifier of this crate can make one, so a
/// function that takes a `Verified` cannot be given an unproven post.
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

    /// The key that deduplicates the delivery.
    pub fn key(&self) -> DeliveryKey {
        self.key
    }

    /// The digest that distinguishes a retry from another delivery with the same id.
    pub fn content(&self) -> ContentDigest {
        self.content
    }

    /// How much of the post the proof covers.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }
}

/// The origin is not proven. The sender is only told that; the metrics say why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A header of the proof is missing.
    #[error("a signature header is missing")]
    HeaderMissing,
    /// A header of the proof came more than once.
    #[error("a signature header came more than once")]
    HeaderRepeated,
    /// One post has headers of two naming schemes.
    #[error("signature headers of two families are mixed")]
    FamiliesMixed,
    /// The delivery id has a form that the provider never sends.
    #[error("the delivery id is malformed")]
    IdMalformed,
    /// The timestamp cannot be read.
    #[error("the timestamp is malformed")]
    TimestampMalformed,
    /// The signature header is too long or lists too many signatures.
    #[error("the signature header is too large")]
    SignatureTooLarge,
    /// There is no signature of a known version and form.
    #[error("no signature of a known form")]
    SignatureUnknown,
    /// No signature was made with a live secret over these bytes.
    #[error("the signature does not match")]
    SignatureMismatch,
    /// The password is wrong.
    #[error("the credentials do not match")]
    Credentials,
    /// The token was used before, with another body.
    #[error("the token was used before")]
    Replayed,
    /// The body lacks the proof that this provider puts into it.
    #[error("the body does not hold its proof")]
    ProofMissing,
    /// The topic is not in the list of topics of this source. Anybody with an account at the
    /// provider can sign for a topic of their own.
    #[error("the topic is not in the list of topics of this source")]
    TopicForeign,
    /// The certificate's URL is not the provider's.
    #[error("the certificate's URL is not the provider's")]
    CertificateForeign,
    /// The certificate was not fetched.
    #[error("the certificate is not available")]
    CertificateMissing,
    /// The post comes from an address that is not listed.
    #[error("the sender's address is not listed")]
    AddressForeign,
    /// The signature is valid, but too old or from the future: how many seconds older
    /// than now it is, negative if it is from the future.
    #[error("the timestamp is outside the tolerance")]
    Stale(i64),
}

impl VerifyError {
    /// The failure as a metric label.
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
            Self::Stale(_) => "stale",
        }
    }

    /// How many seconds older than now a stale post is, negative if it is from the future.
    pub fn seconds_old(self) -> Option<i64> {
        match self {
            Self::Stale(seconds) => Some(seconds),
            _ => None,
        }
    }
}
