//! Maillatch's own payload, for senders that one can shape:
//!
//! ```json
//! {
//!   "type": "email.received",
//!   "timestamp": "2026-01-01T00:00:00Z",
//!   "data": { "recipients": ["agent@inbox.test"], "raw": "<base64 of the message>" }
//! }
//! ```
//!
//! Other types are ignored; unknown fields are fine. `timestamp` says when the
//! mail was received, and must stay the same when the post is tried again; it may
//! be left out, and then the mail counts as received when it was first posted with
//! success.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{DecodeError, Decoded, InboundMail, json};

/// Reads our own payload.
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
    let mail = InboundMail::original(recipients, base64(encoded)?)?;
    let received_at = json::moment_at(&event, &["timestamp"]);
    Ok(Decoded::mail(mail.received(received_at)))
}

/// Base64 with line ends within, which are common and harmless; anything else
/// that is not strict is refused.
pub(crate) fn base64(encoded: &str) -> Result<Vec<u8>, DecodeError> {
    let lines: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    STANDARD.decode(lines).ok().ok_or(DecodeError::NotBase64)
}
