//! Makes posts as `SendGrid` signs them, with the key of a security policy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use serde_json::json;

/// A security policy with its own key.
pub struct Policy(KeyPair);

/// A post, ready to be sent.
pub struct Post {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Policy {
    /// A policy with a new key.
    pub fn attach() -> Self {
        // Keys are of P-256 unless another curve is named.
        Self(KeyPair::generate().expect("a key"))
    }

    /// The public key as the policy shows it.
    pub fn public_key(&self) -> String {
        STANDARD.encode(self.0.subject_public_key_info())
    }

    /// A form signed at `seconds`; each call uses another boundary.
    pub fn post(&self, fields: &[(&str, &str)], boundary: &str, seconds: i64) -> Post {
        let mut body = String::new();
        for (name, value) in fields {
            body.extend([
                "--",
                boundary,
                "\r\nContent-Disposition: form-data; name=\"",
            ]);
            body.extend([name, "\"\r\n\r\n", value, "\r\n"]);
        }
        body.extend(["--", boundary, "--\r\n"]);
        let stamp = seconds.to_string();
        let signed = [stamp.as_bytes(), body.as_bytes()].concat();
        let signature = STANDARD.encode(self.0.sign(&signed).expect("a signature"));
        let kind = format!("multipart/form-data; boundary={boundary}");
        let headers = [
            ("content-type", kind),
            ("x-twilio-email-event-webhook-timestamp", stamp),
            ("x-twilio-email-event-webhook-signature", signature),
        ];
        Post {
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: body.into_bytes(),
        }
    }
}

/// The value of the form's `envelope`.
pub fn envelope(recipient: &str) -> String {
    json!({ "to": [recipient], "from": "shop@sender.test" }).to_string()
}
