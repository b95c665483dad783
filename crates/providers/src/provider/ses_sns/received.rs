//! What SES says about a mail that it received, or about one that was sent by it.
//!
//! <https://docs.aws.amazon.com/ses/latest/dg/receiving-email-notifications-contents.html>

use pipeline::Timestamp;
use serde_json::Value;

use crate::payload;
use crate::payload::json::Object;
use crate::payload::mail::{InboundMail, SPAM, SenderVerdict, VIRUS};
use crate::payload::remote_mail::{Holds, RemoteMail};
use crate::payload::sent_event::{self, SentEvent};
use crate::payload::{DecodeError, Decoded, json};

/// Decodes a notification. A topic also gets texts that are not JSON, such as the one
/// that SES tests it with.
pub(super) fn decode(
    message: &str,
    bucket: Option<&str>,
    published_at: Timestamp,
) -> Result<Decoded, DecodeError> {
    let event = match json::object(message.as_bytes()) {
        Ok(event) => event,
        Err(DecodeError::Malformed | DecodeError::Empty) => return Ok(Decoded::other_event()),
        Err(error) => return Err(error),
    };
    if json::text(&event, &["notificationType"]) != Some("Received") {
        return Ok(sent(&event));
    }
    let recipients = json::texts(&event, &["receipt", "recipients"])?;
    let received_at = received_at(&event).unwrap_or(published_at);
    match json::text(&event, &["content"]) {
        Some(content) => {
            let encoding = json::text(&event, &["receipt", "action", "encoding"]);
            let raw = match encoding {
                Some(word) if word.eq_ignore_ascii_case("base64") => payload::base64(content)?,
                _ => content.as_bytes().to_vec(),
            };
            let mail = InboundMail::original(recipients, raw)?;
            let mail = mail.stated_from(from(&event).as_deref());
            let mail = mail.sender(verdict(&event));
            let mail = mail.flagged(flags(&event));
            Ok(Decoded::mail(mail.received(Some(received_at))))
        }
        None => remote_mail(&event, recipients, bucket, received_at),
    }
}

/// The events about a mail that SES has accepted.
const ACCEPTED: [&str; 7] = [
    "Send",
    "Delivery",
    "DeliveryDelay",
    "Bounce",
    "Complaint",
    "Open",
    "Click",
];

/// An event about sent mail. With event publishing the mail has tags; with feedback
/// notifications it has headers, if the identity is set to include them.
fn sent(event: &Object) -> Decoded {
    let kind = ["eventType", "notificationType"];
    let kind = kind.iter().find_map(|name| json::text(event, &[name]));
    let id = json::text(event, &["mail", "messageId"]);
    let places = ["tags", "headers"].map(|name| json::at(event, &["mail", name]));
    let sent = places.into_iter().find_map(|held| SentEvent::of(held, id));
    let is_accepted = kind.is_some_and(|kind| ACCEPTED.contains(&kind));
    sent_event::decoded(sent.filter(|_| is_accepted))
}

/// A mail in S3. The post names a bucket, but whoever may publish to the topic must not
/// choose which bucket our key reads.
fn remote_mail(
    event: &Object,
    recipients: Vec<String>,
    bucket: Option<&str>,
    received_at: Timestamp,
) -> Result<Decoded, DecodeError> {
    let action = |name| json::text(event, &["receipt", "action", name]);
    if action("type") != Some("S3") {
        return Err(DecodeError::Malformed);
    }
    let (named, key) = (action("bucketName"), action("objectKey"));
    let (Some(named), Some(key)) = (named, key) else {
        return Err(DecodeError::Malformed);
    };
    if bucket.is_some_and(|bucket| bucket != named) {
        return Err(DecodeError::BucketForeign);
    }
    if recipients.is_empty() {
        return Err(DecodeError::NoRecipient);
    }
    Ok(Decoded::RemoteMail(RemoteMail {
        recipients,
        path: [named]
            .into_iter()
            .chain(key.split('/'))
            .map(str::to_owned)
            .collect(),
        query: None,
        provider_id: None,
        holds: Holds::Message,
        received_at: Some(received_at),
        stated_from: from(event),
        sender: verdict(event),
        flags: flags(event),
    }))
}

/// The senders that SES has read from the mail. Its verdict is about them.
fn from(event: &Object) -> Option<String> {
    let from = json::list(event, &["mail", "commonHeaders", "from"]);
    let from: Vec<&str> = from.iter().filter_map(Value::as_str).collect();
    (!from.is_empty()).then(|| from.join(", "))
}

/// When SES received the mail, or else when it handled it.
fn received_at(event: &Object) -> Option<Timestamp> {
    json::moment_at(event, &["mail", "timestamp"])
        .or_else(|| json::moment_at(event, &["receipt", "timestamp"]))
}

/// The DMARC verdict, which is about the domain in `From:`. `dkimVerdict` is about any
/// signature and proves nothing about the sender.
fn verdict(event: &Object) -> Option<SenderVerdict> {
    match json::text(event, &["receipt", "dmarcVerdict", "status"]) {
        Some("PASS") => Some(SenderVerdict::Proven),
        Some("FAIL") => Some(SenderVerdict::Refuted),
        _ => None,
    }
}

/// The verdicts about spam and viruses. Only `FAIL` says that SES has found something:
/// `GRAY` and `PROCESSING_FAILED` say that it does not know.
fn flags(event: &Object) -> Vec<&'static str> {
    let has_failed = |name| json::text(event, &["receipt", name, "status"]) == Some("FAIL");
    [("spamVerdict", SPAM), ("virusVerdict", VIRUS)]
        .into_iter()
        .filter(|(name, _)| has_failed(*name))
        .map(|(_, flag)| flag)
        .collect()
}
