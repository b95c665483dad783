//! Makes posts as Amazon SNS signs them, with a certificate, without using the product's
//! code.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use rcgen::{CertificateParams, KeyPair};
use rsa::pkcs8::{EncodePrivateKey, LineEnding};
use rsa::sha2::{Digest, Sha256};
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use serde_json::{Map, Value, json};

use crate::rsa_key::rsa_key;

/// The topic of the posts.
pub const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:mail";

/// The path of the certificate below the origin of SNS.
pub const CERTIFICATE: &str = "/SimpleNotificationService-0a1b2c3d4e5f.pem";

/// The kind of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A message.
    Notification,
    /// A request to confirm a subscription.
    SubscriptionConfirmation,
    /// The end of a subscription.
    UnsubscribeConfirmation,
}

/// A fake SNS with its own key.
pub struct Sns {
    /// Its origin as posts state it: scheme and host.
    pub origin: String,
    key: &'static RsaPrivateKey,
    pem: &'static str,
}

impl Sns {
    /// An SNS whose posts state this origin. The whole process shares one key, which is
    /// new in every run.
    pub fn at(origin: &str) -> Self {
        static PEM: OnceLock<String> = OnceLock::new();
        let key = rsa_key();
        Self {
            origin: origin.to_owned(),
            key,
            pem: PEM.get_or_init(|| certificate(key)),
        }
    }

    /// The certificate, as it is served.
    pub fn certificate(&self) -> &'static str {
        self.pem
    }

    /// A post that contains a mail in Base64.
    pub fn mail(&self, id: &str, recipient: &str, raw: &[u8], at: Timestamp) -> String {
        let message = json!({
            "notificationType": "Received",
            "mail": { "messageId": id, "source": "shop@sender.test" },
            "receipt": {
                "recipients": [recipient],
                "action": { "type": "SNS", "topicArn": TOPIC, "encoding": "BASE64" },
            },
            "content": STANDARD.encode(raw),
        });
        self.post(Kind::Notification, id, &message.to_string(), at)
    }

    /// A post about a mail that was stored in a bucket.
    pub fn mail_in(&self, [bucket, key]: [&str; 2], recipient: &str, at: Timestamp) -> String {
        let message = json!({
            "notificationType": "Received",
            "receipt": {
                "recipients": [recipient],
                "action": { "type": "S3", "bucketName": bucket, "objectKey": key },
            },
        });
        self.post(Kind::Notification, key, &message.to_string(), at)
    }

    /// A signed post of any kind.
    pub fn post(&self, kind: Kind, id: &str, message: &str, at: Timestamp) -> String {
        let fields = self.fields(kind, id, message, at);
        Value::Object(self.signed(fields, "2")).to_string()
    }

    /// The fields of an unsigned post.
    pub fn fields(&self, kind: Kind, id: &str, message: &str, at: Timestamp) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: &str| fields.insert(name.to_owned(), json!(value));
        set("Type", &format!("{kind:?}"));
        set("MessageId", id);
        set("TopicArn", TOPIC);
        set("Message", message);
        set("Timestamp", &at.to_string());
        set("SigningCertURL", &format!("{}{CERTIFICATE}", self.origin));
        if kind != Kind::Notification {
            set("Token", "a-token");
            set(
                "SubscribeURL",
                &format!("{}/?Action=ConfirmSubscription", self.origin),
            );
        }
        fields
    }

    /// The fields with a signature of version `1` or `2`.
    pub fn signed(&self, mut fields: Map<String, Value>, version: &str) -> Map<String, Value> {
        let covered: &[&str] = match fields.get("Type").and_then(Value::as_str) {
            Some("Notification") => &[
                "Message",
                "MessageId",
                "Subject",
                "Timestamp",
                "TopicArn",
                "Type",
            ],
            _ => &[
                "Message",
                "MessageId",
                "SubscribeURL",
                "Timestamp",
                "Token",
                "TopicArn",
                "Type",
            ],
        };
        let mut text = String::new();
        for name in covered {
            if let Some(value) = fields.get(*name).and_then(Value::as_str) {
                text.extend([name, "\n", value, "\n"]);
            }
        }
        let signature = match version {
            "1" => self.key.sign(
                Pkcs1v15Sign::new::<sha1::Sha1>(),
                &sha1::Sha1::digest(text.as_bytes()),
            ),
            _ => self.key.sign(
                Pkcs1v15Sign::new::<Sha256>(),
                &Sha256::digest(text.as_bytes()),
            ),
        };
        let signature = STANDARD.encode(signature.expect("a signature"));
        fields.insert("SignatureVersion".to_owned(), json!(version));
        fields.insert("Signature".to_owned(), json!(signature));
        fields
    }
}

fn certificate(key: &RsaPrivateKey) -> String {
    let document = key.to_pkcs8_pem(LineEnding::LF).expect("a document");
    let pair = KeyPair::from_pem(&document).expect("a pair");
    let subject = CertificateParams::new(["sns.amazonaws.com".to_owned()]).expect("a subject");
    subject.self_signed(&pair).expect("a certificate").pem()
}
