//! Makes posts as Postal signs them, without using the product's code.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rsa::Pkcs1v15Sign;
use rsa::pkcs8::EncodePublicKey;
use serde_json::json;
use sha1::{Digest, Sha1};

use crate::rsa_key::rsa_key;

/// The public key as it stands after `p=` in Postal's DKIM record.
pub fn public_key() -> String {
    let document = rsa_key().to_public_key().to_public_key_der();
    STANDARD.encode(document.expect("a document"))
}

/// A post with a mail in Postal's "raw message" format.
pub fn mail(id: u64, recipient: &str, raw: &[u8]) -> String {
    let post = json!({
        "id": id,
        "rcpt_to": recipient,
        "mail_from": "shop@sender.test",
        "message": STANDARD.encode(raw),
        "base64": true,
        "size": raw.len(),
    });
    post.to_string()
}

/// The value of `X-Postal-Signature` for a body.
pub fn signature(body: &[u8]) -> String {
    let signed = rsa_key().sign(Pkcs1v15Sign::new::<Sha1>(), &Sha1::digest(body));
    STANDARD.encode(signed.expect("a signature"))
}
