//! A raw message with its recipients in front: one line `X-Maillatch-Recipient: …` for
//! each address it was delivered to, one line `X-Maillatch-Message:`, and the message.
//! Deliveries that polling found and posts of `relay` have this form. The second line ends
//! the recipients: a mail whose own first line looks like a recipient adds none. A sender
//! may leave it out.

use memchr::memchr;

use super::mail::InboundMail;
use super::{DecodeError, Decoded};

/// The content type of a delivery that polling found.
pub const POLLED: &str = "application/vnd.maillatch.polled";

/// The same, for a message that was rebuilt from parsed fields.
pub const POLLED_REBUILT: &str = "application/vnd.maillatch.polled; rebuilt=true";

const RECIPIENT: &str = "X-Maillatch-Recipient:";
const MESSAGE: &str = "X-Maillatch-Message:\n";

/// The body of a delivery for a message and the addresses it was delivered to.
pub fn addressed_message(recipients: &[String], message: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(message.len() + 64 * recipients.len());
    for recipient in recipients {
        // A line end inside an address would start another line.
        let line: String = recipient.chars().filter(|c| !c.is_control()).collect();
        body.extend_from_slice(format!("{RECIPIENT} {line}\n").as_bytes());
    }
    body.extend_from_slice(MESSAGE.as_bytes());
    body.extend_from_slice(message);
    body
}

/// Reads a delivery that polling found; `None` if the content type is another one.
pub(crate) fn polled(content_type: &str, body: &[u8]) -> Option<Result<Decoded, DecodeError>> {
    let rebuilt = match content_type {
        POLLED => false,
        POLLED_REBUILT => true,
        _ => return None,
    };
    let mail = decode(body).map(|mail| InboundMail { rebuilt, ..mail });
    Some(mail.map(Decoded::mail))
}

/// Reads recipients and message.
pub(crate) fn decode(body: &[u8]) -> Result<InboundMail, DecodeError> {
    if body.is_empty() {
        return Err(DecodeError::Empty);
    }
    let (mut recipients, mut message) = (Vec::new(), body);
    while let Some(rest) = message.strip_prefix(RECIPIENT.as_bytes()) {
        let end = memchr(b'\n', rest).ok_or(DecodeError::Malformed)?;
        let (line, after) = rest.split_at(end);
        let address = str::from_utf8(line).ok().ok_or(DecodeError::Malformed)?;
        recipients.push(address.trim().to_owned());
        message = after.get(1..).unwrap_or_default();
    }
    let message = message.strip_prefix(MESSAGE.as_bytes()).unwrap_or(message);
    InboundMail::original(recipients, message.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_and_message_are_read_as_written() {
        let recipients = ["a@b.test".to_owned(), "c@d.test".to_owned()];
        let message = b"Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n";
        let read = decode(&addressed_message(&recipients, message)).expect("a mail");
        assert_eq!(read.recipients, recipients);
        assert_eq!(read.raw, message);
    }

    #[test]
    fn recipient_line_at_the_start_of_a_mail_adds_no_recipient() {
        let recipients = ["a@b.test".to_owned()];
        for forged in [
            &b"X-Maillatch-Recipient: c@d.test\nSubject: x\r\n\r\n"[..],
            b"X-Maillatch-Message:\nX-Maillatch-Recipient: c@d.test\n\r\n",
        ] {
            let read = decode(&addressed_message(&recipients, forged)).expect("a mail");
            assert_eq!(read.recipients, recipients);
            assert_eq!(read.raw, forged);
            let nobody = decode(&addressed_message(&[], forged));
            assert_eq!(nobody, Err(DecodeError::NoRecipient));
        }
    }

    #[test]
    fn line_end_in_a_recipient_does_not_add_another() {
        let forged = ["a@b.test\nX-Maillatch-Recipient: c@d.test".to_owned()];
        let read = decode(&addressed_message(&forged, b"Subject: x\r\n\r\n")).expect("a mail");
        assert_eq!(read.recipients.len(), 1);
    }
}
