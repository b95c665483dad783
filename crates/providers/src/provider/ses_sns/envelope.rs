//! The envelope of everything that SNS posts, and the text that its signature covers.
//!
//! <https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html>

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::payload::json::Object;
use crate::payload::{DecodeError, json};
use crate::proof::VerifyError;
use crate::proof::certificate::RsaHash;

/// The longest post that is parsed. SNS posts at most 256 KiB.
const MOST_BYTES: usize = 512 * 1024;

/// A post of SNS. Its form is checked, its signature is not.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) topic: String,
    pub(super) message: String,
    pub(super) at: Timestamp,
    pub(super) hash: RsaHash,
    pub(super) signature: Vec<u8>,
    pub(super) certificate_url: String,
    /// The time as text, because the text was signed.
    stamp: String,
}

/// The kind of an envelope, with the fields that only this kind has.
#[derive(Debug)]
pub(super) enum Kind {
    Notification { subject: Option<String> },
    Subscription { token: String, url: String },
    Unsubscription { token: String, url: String },
}

impl Envelope {
    /// Reads the envelope of a post that is not proven yet.
    pub(super) fn read(body: &[u8]) -> Result<Self, VerifyError> {
        Self::parse(body).ok().ok_or(VerifyError::ProofMissing)
    }

    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        if body.len() > MOST_BYTES {
            return Err(DecodeError::Malformed);
        }
        let object = json::object(body)?;
        let stamp = line(&object, "Timestamp")?;
        Ok(Self {
            kind: Kind::read(&object)?,
            id: line(&object, "MessageId")?,
            topic: line(&object, "TopicArn")?,
            message: json::text(&object, &["Message"])
                .ok_or(DecodeError::Malformed)?
                .to_owned(),
            at: moment(&stamp).ok_or(DecodeError::Malformed)?,
            hash: match line(&object, "SignatureVersion")?.as_str() {
                "1" => RsaHash::Sha1,
                "2" => RsaHash::Sha256,
                _ => return Err(DecodeError::Malformed),
            },
            signature: STANDARD
                .decode(line(&object, "Signature")?)
                .ok()
                .ok_or(DecodeError::NotBase64)?,
            certificate_url: line(&object, "SigningCertURL")?,
            stamp,
        })
    }

    /// The text that the signature covers: each name and each value on its own line,
    /// sorted by name.
    pub(super) fn signed(&self) -> String {
        let (subject, link, token, kind) = match &self.kind {
            Kind::Notification { subject } => (subject.as_ref(), None, None, "Notification"),
            Kind::Subscription { token, url } => {
                (None, Some(url), Some(token), "SubscriptionConfirmation")
            }
            Kind::Unsubscription { token, url } => {
                (None, Some(url), Some(token), "UnsubscribeConfirmation")
            }
        };
        let kind = kind.to_owned();
        [
            ("Message", Some(&self.message)),
            ("MessageId", Some(&self.id)),
            ("Subject", subject),
            ("SubscribeURL", link),
            ("Timestamp", Some(&self.stamp)),
            ("Token", token),
            ("TopicArn", Some(&self.topic)),
            ("Type", Some(&kind)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some([name, "\n", value?.as_str(), "\n"].concat()))
        .collect()
    }
}

impl Kind {
    fn read(object: &Object) -> Result<Self, DecodeError> {
        let (token, url) = (|| line(object, "Token"), || line(object, "SubscribeURL"));
        match json::text(object, &["Type"]) {
            Some("Notification") => Ok(Self::Notification {
                subject: match object.get("Subject") {
                    None | Some(serde_json::Value::Null) => None,
                    Some(_) => Some(line(object, "Subject")?),
                },
            }),
            Some("SubscriptionConfirmation") => Ok(Self::Subscription {
                token: token()?,
                url: url()?,
            }),
            Some("UnsubscribeConfirmation") => Ok(Self::Unsubscription {
                token: token()?,
                url: url()?,
            }),
            _ => Err(DecodeError::Malformed),
        }
    }
}

/// A field of one line. Only the message may have line ends: with line ends in two
/// fields, the same signed text could be split into fields in two ways.
fn line(object: &Object, name: &'static str) -> Result<String, DecodeError> {
    json::text(object, &[name])
        .filter(|text| !text.is_empty() && !text.contains(['\n', '\r']))
        .map(str::to_owned)
        .ok_or(DecodeError::Malformed)
}

fn moment(text: &str) -> Option<Timestamp> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let millis = moment.unix_timestamp_nanos() / 1_000_000;
    i64::try_from(millis).ok().map(Timestamp::from_millis)
}
