//! Mailhook (mailhook.co).
//!
//! Request: JSON. Mailhook does not publish how it signs its posts, so the password
//! (`username` and `password` in the URL, or `url_token`) is the only proof and is
//! required. The body of a post is not published either. Read here is the mail as
//! Mailhook's API shows it, `{"data":{"id":"ie_…", "type":"inbound_email",
//! "attributes":{"from", "subject", "text_body", "html_body", "received_at"}}}`, or the
//! same fields without the wrapping. A webhook belongs to one address and the mail does not
//! name it, so the setting `recipient` does. There is no original: the message is rebuilt
//! from the fields. The id is the key of the delivery; without one the content is.
//!
//! Received: `received_at`.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate | not published | none |
//! | 401 | not proven | not published | none |
//! | 413 | too large | not published | none |
//! | 503 | not stored | not published | none |
//!
//! Mailhook keeps mail for at least a day, and its API can be polled. A body in another
//! format is stored and dead-lettered as `payload_malformed`, so that nothing is lost.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailhook` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::{Value, json};

use crate::contract::answers::Answers;
use crate::contract::polling::{InboxSetting, PollClient, Polling};
use crate::contract::sample::{Post, Sample, Shape};
use crate::contract::source_add::Ask;
use crate::contract::{Contract, Handshake, Posts, Provider};
use crate::flaw::SourceFlaw;
use crate::payload::json::Object;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::identity::Identity;
use crate::proof::request::RawRequest;
use crate::proof::{Coverage, Verified, VerifyError};
use crate::settings::{Setting, SourceSettings};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailhook",
    source_name: "mailhook",
    posts: Posts::Fields,
    polling: Some(Polling {
        client: PollClient::Mailhook,
        inboxes: InboxSetting::Recipient,
    }),
    asks: &[
        Ask::Paste {
            key: "recipient",
            what: "the address at Mailhook",
            example: "mailhook@inbox.test",
            is_list: false,
        },
        Ask::MintPassword,
    ],
    answers: Answers::PLAIN,
    setup: &[
        "Set `recipient` to the address at Mailhook.",
        "At Mailhook, create a webhook for that address (`POST /api/v1/webhooks` with `url` and \
         `email_address_id`) to the source's URL with `username:password@` before the host.",
        "Add another source for each further address.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: Some("https://app.mailhook.co/api/v1"),
    takes: &[Setting::Recipient, Setting::Api, Setting::Poll],
    build,
};

struct Mailhook {
    recipient: String,
}

fn build(settings: &SourceSettings) -> Result<Box<dyn Provider>, SourceFlaw> {
    let recipient = settings.recipient.clone();
    Ok(Box::new(Mailhook {
        recipient: recipient.ok_or(SourceFlaw::Missing("recipient"))?,
    }))
}

impl Provider for Mailhook {
    fn verify(
        &self,
        source: &SourceName,
        request: &RawRequest<'_>,
        _now: Timestamp,
    ) -> Result<Verified, VerifyError> {
        let wrapped = json::object(request.body()).is_ok_and(|body| body.contains_key("data"));
        let path: &[&str] = if wrapped { &["data", "id"] } else { &["id"] };
        let identity = Identity::Field(path.iter().map(ToString::to_string).collect());
        Ok(identity.verified(source, request, None, Coverage::Password))
    }

    fn decode(&self, _content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
        let event = json::object(body)?;
        let data = event.get("data").and_then(Value::as_object);
        let data = data.unwrap_or(&event);
        if json::text(data, &["type"]).is_some_and(|kind| kind != "inbound_email") {
            return Ok(Decoded::other_event());
        }
        let fields = data.get("attributes").and_then(Value::as_object);
        let fields = fields.unwrap_or(data);
        let rebuilt = rebuilt(fields).ok_or(DecodeError::Malformed)?;
        let mail = InboundMail::rebuilt(vec![self.recipient.clone()], &rebuilt)?;
        let mail = mail.received(json::moment_at(fields, &["received_at"]));
        Ok(Decoded::mail(mail.known_as(json::text(data, &["id"]))))
    }

    fn sample(&self, sample: &Sample<'_>) -> Option<Post> {
        let shape = Shape::json(&json!({ "data": {
            "id": sample.id,
            "type": "inbound_email",
            "attributes": {
                "from": sample.from,
                "subject": sample.subject,
                "text_body": sample.text,
                "received_at": sample.at.to_string(),
            },
        } }));
        Some(shape.with(Vec::new()))
    }
}

/// The mail's fields; `None` without a sender and a text.
fn rebuilt(fields: &Object) -> Option<RebuiltMessage<'_>> {
    let field = |name| json::text(fields, &[name]);
    let (text, html) = (field("text_body"), field("html_body"));
    let headers = [
        ("From", Some(field("from")?)),
        ("Subject", field("subject")),
    ];
    (text.is_some() || html.is_some()).then(|| RebuiltMessage {
        headers: headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        text: text.map(Body::utf8),
        html: html.map(Body::utf8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(body: &Value) -> Result<Decoded, DecodeError> {
        let recipient = "agent@inbox.test".to_owned();
        Mailhook { recipient }.decode("application/json", body.to_string().as_bytes())
    }

    #[test]
    fn mail_is_read_with_and_without_the_data_wrapping() {
        let fields = json!({
            "id": "ie_1", "from": "a@b.test", "subject": "x", "html_body": "<p>y</p>",
        });
        let wrapped = json!({ "data": {
            "id": "ie_1", "type": "inbound_email", "attributes": fields,
        } });
        let bare = decode(&fields).expect("decoded");
        assert_eq!(decode(&wrapped), Ok(bare.clone()));
        let Decoded::Mails(mails) = bare else {
            panic!("no mail");
        };
        assert_eq!(mails[0].recipients, ["agent@inbox.test"]);
        assert!(mails[0].rebuilt);
    }

    #[test]
    fn missing_fields_are_malformed_and_other_types_are_ignored() {
        for bad in [
            json!({}),
            json!({ "from": "a@b.test" }),
            json!({ "text_body": "x" }),
        ] {
            assert_eq!(decode(&bad), Err(DecodeError::Malformed), "{bad}");
        }
        let other = json!({ "data": { "type": "outbound_email" } });
        assert_eq!(decode(&other), Ok(Decoded::other_event()));
    }
}
