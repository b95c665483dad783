//! Postmark inbound.
//!
//! Request: JSON, unsigned. The password (`username` and `password` in the URL, or
//! `url_token`) is the only proof and is required. `MessageID` is Postmark's own id and the
//! key of the delivery. `OriginalRecipient` is the recipient of the envelope. `RawEmail` is
//! the message if "include raw" is on; otherwise the message is rebuilt from `Headers`,
//! `TextBody` and `HtmlBody`. Postmark's API never returns the original, so a mail that is
//! both posted and polled is recognized by `MessageID`, which is the same in both. Events
//! about sent mail prove a send, whose provider key is `Tag`; all events of one mail have
//! the same `MessageID`, so they are keyed by their content.
//!
//! Received: not stated. `Date` is the mail's own header, written by its sender, so a mail
//! counts as received when it is stored.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | done | Postmark's article on inbound webhook retries |
//! | 401 | not proven | retries ten times within 10.5 hours | the same: any status but 200 and 403 |
//! | 413 | too large | retries ten times within 10.5 hours | the same |
//! | 503 | not stored | retries ten times within 10.5 hours | the same |
//!
//! 403 would give the mail up, so it is never sent.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add postmark` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::Value;

use crate::contract::answers::Answers;
use crate::contract::polling::{PollClient, Polling};
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::payload::json::Object;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::sent_event::{self, SentEvent};
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::identity::Identity;
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::Setting;

pub(crate) const CONTRACT: Contract = Contract {
    name: "postmark",
    source_name: "postmark",
    posts: Posts::Original,
    polling: Some(Polling::with(PollClient::Postmark)),
    asks: &[Ask::MintPassword],
    answers: Answers::PLAIN,
    setup: &[
        "In Postmark, the inbound stream's settings, set the webhook to the source's URL with \
         `username:password@` before the host.",
        "Turn on \"Include raw email content in JSON payload\".",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: Some("https://api.postmarkapp.com"),
    takes: &[Setting::Api, Setting::Poll],
    build: |_| Ok(Box::new(Postmark)),
};

/// The events about a mail that Postmark has accepted.
const ACCEPTED: [&str; 5] = ["Delivery", "Bounce", "SpamComplaint", "Open", "Click"];

struct Postmark;

impl Provider for Postmark {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        // Bodies are large, so this one is parsed once for both fields.
        let event = json::object(request.body()).unwrap_or_default();
        let is_mail = matches!(json::text(&event, &["RecordType"]), None | Some("Inbound"));
        let id = json::text(&event, &["MessageID"]).filter(|id| is_mail && !id.is_empty());
        Ok(Identity::Header.verified(source, request, id, Coverage::Password))
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = json::object(body)?;
        match json::text(&event, &["RecordType"]) {
            None | Some("Inbound") => {}
            Some(kind) if ACCEPTED.contains(&kind) => {
                let id = json::text(&event, &["MessageID"]);
                return Ok(sent_event::decoded(SentEvent::of(event.get("Tag"), id)));
            }
            Some(_) => return Ok(Decoded::other_event()),
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
    let rebuilt = RebuiltMessage {
        headers: named.chain(listed).collect(),
        text: field("TextBody").map(Body::utf8),
        html: field("HtmlBody").map(Body::utf8),
    };
    if rebuilt.text.is_none() && rebuilt.html.is_none() && rebuilt.headers.is_empty() {
        return Err(DecodeError::Malformed);
    }
    InboundMail::rebuilt(recipients, &rebuilt)
}
