//! The HMAC of a sender with a shared secret, without using the product's code.

use std::fmt::Write;

use ring::hmac::{HMAC_SHA256, Key, sign};

/// The lower-case hex of HMAC-SHA-256 over a body, the secret taken literally.
pub fn hex_signature(secret: &str, body: &[u8]) -> String {
    let tag = sign(&Key::new(HMAC_SHA256, secret.as_bytes()), body);
    tag.as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
