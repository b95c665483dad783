//! A mail server's pipe (Postfix, Exim, qmail): the raw message, signed by
//! Standard Webhooks.
//!
//! Request: `Content-Type: message/rfc822`, and a body of one or more lines
//! `X-Maillatch-Recipient: agent@inbox.test` with the message right behind them.
//! The recipients stand in the body because the signature covers nothing else.
//!
//! Answers: as Standard Webhooks; the pipe turns any status but 2xx into a
//! temporary failure, and the mail server tries again.

use super::{Contract, Handshake, standard_webhooks};
use crate::sample::Shape;
use crate::{Answers, Coverage, DecodeError, Decoded, InboundMail, Sample};

pub(crate) const CONTRACT: Contract = Contract {
    name: "relay",
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Pipe the mail of the inboxes' domain into a program that posts it signed.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: standard_webhooks::KNOBS,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

const RECIPIENT: &[u8] = b"X-Maillatch-Recipient:";

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    if body.is_empty() {
        return Err(DecodeError::Empty);
    }
    let (mut recipients, mut message) = (Vec::new(), body);
    while let Some(rest) = message.strip_prefix(RECIPIENT) {
        let end = memchr::memchr(b'\n', rest).ok_or(DecodeError::Malformed)?;
        let (line, behind) = rest.split_at(end);
        let address = str::from_utf8(line).ok().ok_or(DecodeError::Malformed)?;
        recipients.push(address.trim().to_owned());
        message = behind.get(1..).unwrap_or_default();
    }
    InboundMail::original(recipients, message.to_vec()).map(Decoded::mail)
}

fn shape(sample: &Sample<'_>) -> Shape {
    let line = format!("X-Maillatch-Recipient: {}\r\n", sample.recipient);
    Shape {
        content_type: "message/rfc822",
        body: [line, sample.raw()].concat().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipients_stand_before_the_message_and_are_not_part_of_it() {
        let body = b"X-Maillatch-Recipient: a@b.test\r\nX-Maillatch-Recipient:c@d.test\n\
            Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n";
        let expected = InboundMail {
            recipients: vec!["a@b.test".to_owned(), "c@d.test".to_owned()],
            raw: b"Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n".to_vec(),
            rebuilt: false,
        };
        let decoded = decode("message/rfc822", body);
        assert_eq!(decoded, Ok(Decoded::Mails(vec![expected])));
    }

    #[test]
    fn a_message_for_nobody_is_refused() {
        for (body, flaw) in [
            (&b"Subject: x\r\n\r\n"[..], DecodeError::NoRecipient),
            (b"", DecodeError::Empty),
            (b"X-Maillatch-Recipient: a", DecodeError::Malformed),
            (b"X-Maillatch-Recipient: \xff\n", DecodeError::Malformed),
        ] {
            assert_eq!(decode("message/rfc822", body), Err(flaw), "{body:?}");
        }
    }
}
