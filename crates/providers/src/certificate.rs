//! RSA keys: bare, as some providers show theirs, and within the certificate that
//! others sign with and say where to get.

use std::sync::Arc;

use ring::signature::{
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, RsaParameters,
    UnparsedPublicKey,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use webpki::EndEntityCert;

/// The hash under an RSA signature (PKCS #1 v1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RsaHash {
    /// Weak as a hash: nobody can yet make a second text for a signature that
    /// exists, which is what would be needed here.
    Sha1,
    Sha256,
}

impl RsaHash {
    fn parameters(self) -> &'static RsaParameters {
        match self {
            Self::Sha1 => &RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

/// The public half of an RSA key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RsaKey(Arc<[u8]>);

/// What stands before the bit string of an RSA key in an SPKI document, behind
/// the outer length: the algorithm's name and no parameters.
const RSA_ENCRYPTION: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

impl RsaKey {
    /// The key inside an SPKI document.
    pub(crate) fn from_spki(document: &[u8]) -> Option<Self> {
        let inner = tagged(document, 0x30)?;
        let bits = tagged(inner.strip_prefix(&RSA_ENCRYPTION)?, 0x03)?;
        bits.strip_prefix(&[0]).map(|key| Self(key.into()))
    }

    /// Whether the key's owner signed these bytes.
    pub(crate) fn has_signed(&self, hash: RsaHash, signed: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(hash.parameters(), &self.0)
            .verify(signed, signature)
            .is_ok()
    }
}

/// The contents of a DER value that is all there is.
fn tagged(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(&[tag])?;
    let (length, contents) = match rest {
        [short, contents @ ..] if *short < 0x80 => (usize::from(*short), contents),
        [0x81, one, contents @ ..] => (usize::from(*one), contents),
        [0x82, high, low, contents @ ..] => (usize::from(*high) << 8 | usize::from(*low), contents),
        _ => return None,
    };
    (contents.len() == length).then_some(contents)
}

/// A certificate that a provider signs with, reduced to its key. Who it was
/// issued to and by whom is not looked at: that it came over TLS from the one
/// place which [`crate::Source::certificate_url`] allows is what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate(RsaKey);

impl Certificate {
    /// Reads the first certificate of a PEM file, if it has an RSA key.
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem).ok()?;
        let certificate = EndEntityCert::try_from(&der).ok()?;
        RsaKey::from_spki(certificate.subject_public_key_info().as_ref()).map(Self)
    }

    pub(crate) fn key(&self) -> &RsaKey {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_none() {
        for bad in [
            &b""[..],
            b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
            b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            b"<html>not here</html>",
            b"\xff\xfe",
        ] {
            assert_eq!(Certificate::from_pem(bad), None, "{bad:?}");
        }
    }
}
