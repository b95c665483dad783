//! A mail that was found by polling, as its delivery keeps it: one line
//! `X-Maillatch-Recipient: …` for each address it was delivered to, and the
//! message right behind them.

use memchr::memchr;

use crate::{DecodeError, InboundMail};

/// The content type of a delivery in this form.
pub const POLLED: &str = "application/vnd.maillatch.polled";

const RECIPIENT: &str = "X-Maillatch-Recipient:";

/// The body of a delivery for a message and the addresses it was delivered to.
pub fn polled(recipients: &[String], message: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(message.len() + 64 * recipients.len());
    for recipient in recipients {
        // An address with a line end within would end its line, and it is none.
        let line: String = recipient.chars().filter(|c| !c.is_control()).collect();
        body.extend_from_slice(format!("{RECIPIENT} {line}\n").as_bytes());
    }
    body.extend_from_slice(message);
    body
}

/// Reads recipients and message back.
pub(crate) fn decode(body: &[u8]) -> Result<InboundMail, DecodeError> {
    if body.is_empty() {
        return Err(DecodeError::Empty);
    }
    let (mut recipients, mut message) = (Vec::new(), body);
    while let Some(rest) = message.strip_prefix(RECIPIENT.as_bytes()) {
        let end = memchr(b'\n', rest).ok_or(DecodeError::Malformed)?;
        let (line, behind) = rest.split_at(end);
        let address = str::from_utf8(line).ok().ok_or(DecodeError::Malformed)?;
        recipients.push(address.trim().to_owned());
        message = behind.get(1..).unwrap_or_default();
    }
    InboundMail::original(recipients, message.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let recipients = ["a@b.test".to_owned(), "c@d.test".to_owned()];
        let message = b"Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n";
        let read = decode(&polled(&recipients, message)).expect("a mail");
        assert_eq!(read.recipients, recipients);
        assert_eq!(read.raw, message);
    }

    #[test]
    fn a_recipient_cannot_add_another() {
        let forged = ["a@b.test\nX-Maillatch-Recipient: c@d.test".to_owned()];
        let read = decode(&polled(&forged, b"Subject: x\r\n\r\n")).expect("a mail");
        assert_eq!(read.recipients.len(), 1);
    }
}
