//! A mail server's pipe (Postfix, Exim, qmail): the raw message, signed by
//! Standard Webhooks.
//!
//! Request: `Content-Type: message/rfc822`, and a body of one or more lines
//! `X-Maillatch-Recipient: agent@inbox.test` with the message right behind them.
//! The recipients stand in the body because the signature covers nothing else.
//!
//! `webhook-id`, `webhook-timestamp` and `webhook-signature` prove it; the id is made
//! from the message and its recipients, so that the mail server's next try is the
//! same delivery.
//!
//! Received: not stated. A mail server tells its pipe no time that a sender could not
//! have written, so a mail that waited in its queue counts as received when it is
//! posted.
//!
//! Answers: 200 stored or duplicate; 401 not proven or stale; 413 too large; 503 not
//! stored. The pipe turns any status but 2xx into a temporary failure, and the mail
//! server tries again.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add relay` prints.

use super::{Contract, Handshake, standard_webhooks};
use crate::polled;
use crate::sample::Shape;
use crate::{Answers, Coverage, DecodeError, Decoded, Sample};

pub(crate) const CONTRACT: Contract = Contract {
    name: "relay",
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Pipe the mail of the inboxes' domain into `maillatch relay ADDRESS`, with MAILLATCH_URL and \
         MAILLATCH_SIGNING_SECRET set; `maillatch relay --help` shows how for Postfix, Exim and qmail.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    knobs: standard_webhooks::KNOBS,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    polled::decode(body).map(Decoded::mail)
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
    use crate::InboundMail;

    #[test]
    fn the_recipients_stand_before_the_message_and_are_not_part_of_it() {
        let body = b"X-Maillatch-Recipient: a@b.test\r\nX-Maillatch-Recipient:c@d.test\n\
            Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n";
        let expected = InboundMail {
            recipients: vec!["a@b.test".to_owned(), "c@d.test".to_owned()],
            raw: b"Subject: x\r\n\r\nX-Maillatch-Recipient: no\r\n".to_vec(),
            rebuilt: false,
            provider_id: None,
            received_at: None,
            stated_from: None,
            sender: None,
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
