//! A mail server's pipe (Postfix, Exim, qmail): the raw message, signed by Standard
//! Webhooks.
//!
//! Request: `Content-Type: message/rfc822`, and a body of one or more lines
//! `X-Maillatch-Recipient: agent@inbox.test` followed directly by the message. The
//! recipients are in the body because the signature covers nothing else.
//!
//! `webhook-id`, `webhook-timestamp` and `webhook-signature` prove it. The id is computed
//! from the message and its recipients, so a retry of the mail server is the same delivery.
//!
//! Received: not stated. A mail server gives its pipe no time that the sender could not have
//! written, so a mail counts as received when it is stored.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | `maillatch relay`, and `EX_TEMPFAIL` in Postfix, Exim and qmail |
//! | 401 | not proven or stale | the pipe exits with 75; the mail server retries | `maillatch relay`, and `EX_TEMPFAIL` in Postfix, Exim and qmail |
//! | 413 | too large | the pipe exits with 75; the mail server retries | `maillatch relay`, and `EX_TEMPFAIL` in Postfix, Exim and qmail |
//! | 503 | not stored | the pipe exits with 75; the mail server retries | `maillatch relay`, and `EX_TEMPFAIL` in Postfix, Exim and qmail |
//!
//! Set-up: the steps in `setup` below, which `maillatch source add relay` prints.

use super::standard_webhooks;
use crate::contract::answers::Answers;
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts};
use crate::payload::{DecodeError, Decoded, addressed_message};
use crate::proof::Coverage;

pub(crate) const CONTRACT: Contract = Contract {
    name: "relay",
    source_name: "relay",
    posts: Posts::Original,
    polling: None,
    asks: &[Ask::MintSecret],
    answers: Answers::PLAIN,
    setup: &[
        "Mint a secret of 24 to 64 random bytes, written as `whsec_` and base64.",
        "Pipe the mail of the inboxes' domain into `maillatch relay ADDRESS`, with MAILLATCH_URL and \
         MAILLATCH_SIGNING_SECRET set; `maillatch relay --help` shows how for Postfix, Exim and qmail.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::None,
    api: None,
    takes: standard_webhooks::TAKES,
    build: |settings| standard_webhooks::build(settings, Box::new(decode), shape),
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    addressed_message::decode(body).map(Decoded::mail)
}

/// A sample mail as the body of a post.
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
    fn recipient_lines_are_read_and_removed_from_the_message() {
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
            flags: Vec::new(),
        };
        let decoded = decode("message/rfc822", body);
        assert_eq!(decoded, Ok(Decoded::Mails(vec![expected])));
    }

    #[test]
    fn message_without_a_recipient_is_refused() {
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
