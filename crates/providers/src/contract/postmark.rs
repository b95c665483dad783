//! Postmark inbound.
//!
//! Request: JSON, unsigned; the password in front (`username` and `password` in
//! the URL, or `url_token`) is the only proof, and is required. `MessageID` is
//! Postmark's own id and the delivery's key; `OriginalRecipient` is the
//! envelope's recipient; `RawEmail` is the message if "include raw" is on, else it
//! is put together from `Headers`, `TextBody` and `HtmlBody`. Its API never gives
//! the original, so a mail that is posted with it and polled without is told by
//! `MessageID`, which is the same on both ways.
//!
//! Received: not stated. `Date` is the sender's own header, which a stranger writes,
//! so a mail that Postmark had to post again counts as received when it was stored.
//!
//! Answers: 200 stored or duplicate; 401 not proven; 413 too large; 503 not stored.
//! Postmark tries again for ten hours on every status but 2xx and 403, so a mis-set
//! password loses nothing; 403, which gives the mail up, is not sent.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add postmark` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use super::{Contract, Handshake, Provider};
use crate::identity::Identity;
use crate::json::{self, Object};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::settings::Knob;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, Verified,
    VerifyError,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "postmark",
    answers: Answers::PLAIN,
    setup: &[
        "Set `username` and `password` of the source.",
        "In Postmark, the inbound stream's settings, set the webhook to the source's URL with \
         `username:password@` before the host.",
        "Turn on \"Include raw email content in JSON payload\".",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: Some("https://api.postmarkapp.com"),
    knobs: &[Knob::Api, Knob::Poll],
    build: |_| Ok(Box::new(Postmark)),
};

struct Postmark;

impl Provider for Postmark {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let identity = Identity::Field(vec!["MessageID".to_owned()]);
        Ok(identity.verified(source, request, None, Coverage::Password))
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = json::object(body)?;
        if json::text(&event, &["RecordType"]).is_some_and(|kind| kind != "Inbound") {
            return Ok(Decoded::other_event());
        }
        let recipients = recipients(&event);
        match json::text(&event, &["RawEmail"]) {
            Some(raw) if !raw.is_empty() => InboundMail::original(recipients, raw.into())
                .map(|mail| mail.stated_from(json::text(&event, &["From"]))),
            _ => rebuilt(recipients, &event),
        }
        .map(|mail| Decoded::mail(mail.known_as(json::text(&event, &["MessageID"]))))
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let shape = Shape::json(&serde_json::json!({
            "MessageID": sample.id,
            "OriginalRecipient": sample.recipient,
            "From": sample.from,
            "To": sample.recipient,
            "Subject": sample.subject,
            "TextBody": sample.text,
            "RawEmail": sample.raw(),
        }));
        Some(shape.with(Vec::new()))
    }
}

fn recipients(event: &Object) -> Vec<String> {
    match json::text(event, &["OriginalRecipient"]) {
        Some(one) if !one.is_empty() => vec![one.to_owned()],
        _ => json::list(event, &["ToFull"])
            .iter()
            .filter_map(|person| person.get("Email").and_then(Value::as_str))
            .map(str::to_owned)
            .collect(),
    }
}

fn rebuilt(recipients: Vec<String>, event: &Object) -> Result<InboundMail, DecodeError> {
    let field = |name: &'static str| json::text(event, &[name]).filter(|text| !text.is_empty());
    let named = [("From", "From"), ("To", "To"), ("Subject", "Subject")]
        .into_iter()
        .filter_map(|(header, name)| Some((header, field(name)?)));
    let listed = json::list(event, &["Headers"]).iter().filter_map(|header| {
        let name = header.get("Name")?.as_str()?;
        Some((name, header.get("Value")?.as_str()?))
    });
    let letter = Letter {
        headers: named.chain(listed).collect(),
        text: field("TextBody"),
        html: field("HtmlBody"),
    };
    if letter.text.is_none() && letter.html.is_none() && letter.headers.is_empty() {
        return Err(DecodeError::Malformed);
    }
    InboundMail::rebuilt(recipients, &letter)
}
