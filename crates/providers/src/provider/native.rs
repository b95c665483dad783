//! Maillatch's own payload, for senders whose format can be chosen:
//!
//! ```json
//! {
//!   "type": "email.received",
//!   "timestamp": "2026-01-01T00:00:00Z",
//!   "data": { "recipients": ["agent@inbox.test"], "raw": "<base64 of the message>" }
//! }
//! ```
//!
//! Other types are ignored; unknown fields are allowed. `timestamp` says when the mail was
//! received and must stay the same in retries. If it is left out, the mail counts as
//! received when it is stored.

use serde_json::Value;

use crate::payload;
use crate::payload::mail::InboundMail;
use crate::payload::{DecodeError, Decoded, json};

/// Decodes Maillatch's own payload.
pub(crate) fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    match json::text(&event, &["type"]) {
        Some("email.received") => {}
        Some(_) => return Ok(Decoded::other_event()),
        None => return Err(DecodeError::Malformed),
    }
    let data = event
        .get("data")
        .and_then(Value::as_object)
        .ok_or(DecodeError::Malformed)?;
    let recipients = json::texts(data, &["recipients"])?;
    if recipients.is_empty() {
        return Err(DecodeError::NoRecipient);
    }
    let encoded = json::text(data, &["raw"]).ok_or(DecodeError::Malformed)?;
    let mail = InboundMail::original(recipients, payload::base64(encoded)?)?;
    let received_at = json::moment_at(&event, &["timestamp"]);
    Ok(Decoded::mail(mail.received(received_at)))
}
