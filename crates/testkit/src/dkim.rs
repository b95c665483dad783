//! Signs mail with DKIM, without using the library that checks it: simple or relaxed
//! canonicalisation, RSA with SHA-256, or with SHA-1, which must not be accepted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rsa::Pkcs1v15Sign;
use rsa::pkcs8::EncodePublicKey;
use rsa::sha2::{Digest, Sha256};
use sha1::Sha1;

use crate::rsa_key::rsa_key;

/// How a mail is signed.
#[derive(Debug, Clone)]
pub struct Signer<'s> {
    /// The domain that signs; its selector is `mail`.
    pub domain: &'s str,
    /// The fields that are signed.
    pub fields: &'s [&'s str],
    /// The time of signing in Unix seconds, if it is stated.
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
    /// The mail with a signature field in front. The mail must have CRLF line ends and
    /// end with one.
    pub fn sign(&self, mail: &str) -> String {
        let form = ("rsa-sha256", "simple");
        self.sign_with(form, mail, sha256, sign_sha256)
    }

    /// Like [`Self::sign`], with relaxed canonicalisation. The body must have no blanks but
    /// single spaces inside of lines, and no empty lines at its end: such a body is hashed as
    /// it is.
    pub fn sign_relaxed(&self, mail: &str) -> String {
        let form = ("rsa-sha256", "relaxed");
        self.sign_with(form, mail, sha256, |text| {
            let fields = text.replace("\r\n ", " ").replace("\r\n\t", " ");
            let fields: Vec<String> = fields.split("\r\n").map(relaxed).collect();
            sign_sha256(&fields.join("\r\n"))
        })
    }

    /// Like [`Self::sign`], with SHA-1, which must not be accepted.
    pub fn sign_by_sha1(&self, mail: &str) -> String {
        let sign = |text: &str| {
            let hash = Sha1::digest(text);
            rsa_key().sign(Pkcs1v15Sign::new::<Sha1>(), &hash)
        };
        let hash = |body: &str| STANDARD.encode(Sha1::digest(body));
        self.sign_with(("rsa-sha1", "simple"), mail, hash, sign)
    }

    fn sign_with(
        &self,
        (algorithm, form): (&str, &str),
        mail: &str,
        hash: impl Fn(&str) -> String,
        sign: impl Fn(&str) -> rsa::Result<Vec<u8>>,
    ) -> String {
        let (head, body) = mail.split_once("\r\n\r\n").expect("a mail with a body");
        let body_hash = hash(body);
        let at = self.at.map(|at| format!("t={at}; ")).unwrap_or_default();
        let unsigned = format!(
            "DKIM-Signature: v=1; a={algorithm}; c={form}/{form}; d={}; s=mail; {at}{}h={}; bh={body_hash}; b=",
            self.domain,
            self.tags,
            self.fields.join(":"),
        );
        let mut signed = String::new();
        let mut lines: Vec<&str> = head.split("\r\n").collect();
        for name in self.fields {
            let of_name = |line: &&str| {
                let (field, _) = line.split_once(':').unwrap_or_default();
                field.eq_ignore_ascii_case(name)
            };
            // The last one first, and each once. A name too many stands for no field.
            if let Some(at) = lines.iter().rposition(of_name) {
                signed.push_str(lines.remove(at));
                signed.push_str("\r\n");
            }
        }
        signed.push_str(&unsigned);
        let signature = STANDARD.encode(sign(&signed).expect("a signature"));
        format!("{unsigned}{signature}\r\n{mail}")
    }
}

fn sha256(body: &str) -> String {
    STANDARD.encode(Sha256::digest(body))
}

fn sign_sha256(text: &str) -> rsa::Result<Vec<u8>> {
    let hash = Sha256::digest(text);
    rsa_key().sign(Pkcs1v15Sign::new::<Sha256>(), &hash)
}

/// A field on one line: its name in lower case, and its words with one space between them.
fn relaxed(field: &str) -> String {
    let Some((name, value)) = field.split_once(':') else {
        return field.to_owned();
    };
    let words: Vec<&str> = value
        .split([' ', '\t'])
        .filter(|word| !word.is_empty())
        .collect();
    format!("{}:{}", name.trim_end().to_lowercase(), words.join(" "))
}
