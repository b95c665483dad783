//! A sender's side of DKIM, made apart from the library that checks it: simple
//! canonicalisation, RSA with SHA-256.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rsa::Pkcs1v15Sign;
use rsa::pkcs8::EncodePublicKey;
use rsa::sha2::{Digest, Sha256};

use crate::rsa_key::rsa_key;

/// How a mail is signed.
#[derive(Debug, Clone)]
pub struct Signer<'s> {
    /// The domain that signs; its selector is `mail`.
    pub domain: &'s str,
    /// The fields that are signed.
    pub fields: &'s [&'s str],
    /// When it is signed, in Unix seconds, if that is said.
    pub at: Option<i64>,
    /// Further tags, such as `l=10; `.
    pub tags: &'s str,
}

/// The name under which a domain's key is published.
pub fn key_name(domain: &str) -> String {
    format!("mail._domainkey.{domain}")
}

/// The record that is published there.
pub fn key_record() -> String {
    let document = rsa_key().to_public_key().to_public_key_der();
    let key = STANDARD.encode(document.expect("a document"));
    format!("v=DKIM1; k=rsa; p={key}")
}

impl Signer<'_> {
    /// The mail with a signature before it. It has lines that end in CRLF and ends in
    /// one of them.
    pub fn sign(&self, mail: &str) -> String {
        let (head, body) = mail.split_once("\r\n\r\n").expect("a mail with a body");
        let body_hash = STANDARD.encode(Sha256::digest(body));
        let at = self.at.map(|at| format!("t={at}; ")).unwrap_or_default();
        let unsigned = format!(
            "DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d={}; s=mail; {at}{}h={}; bh={body_hash}; b=",
            self.domain,
            self.tags,
            self.fields.join(":"),
        );
        let mut signed = String::new();
        for name in self.fields {
            let of_name = |line: &&str| {
                let (field, _) = line.split_once(':').unwrap_or_default();
                field.eq_ignore_ascii_case(name)
            };
            if let Some(line) = head.split("\r\n").find(of_name) {
                signed.push_str(line);
                signed.push_str("\r\n");
            }
        }
        signed.push_str(&unsigned);
        let signature = rsa_key().sign(Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(&signed));
        let signature = STANDARD.encode(signature.expect("a signature"));
        format!("{unsigned}{signature}\r\n{mail}")
    }
}
