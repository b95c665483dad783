//! RSA public keys: bare, as some providers show theirs, or inside the certificate
//! whose URL others put into the post.

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
    /// SHA-1 has collisions. A forger would need a second preimage, which nobody can
    /// compute yet.
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

/// An RSA public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RsaKey(Arc<[u8]>);

/// The algorithm identifier of an RSA key in an SPKI document: it comes after the outer
/// length and before the bit string.
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

/// The contents of a DER value that fills all the bytes.
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

/// A certificate that a provider signs with, reduced to its key. Subject and issuer are
/// not checked: the certificate is trusted because it came over TLS from a URL that
/// [`crate::Source::certificate_url`] allows.
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
    fn bytes_without_an_rsa_certificate_give_none() {
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
