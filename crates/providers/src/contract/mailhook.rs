//! Mailhook (mailhook.co).
//!
//! Request: JSON. How Mailhook signs its posts is not published, and what cannot
//! be checked proves nothing: the password in front (`username` and `password` in
//! the URL, or `url_token`) is the only proof, and is required. Nor is the body of
//! a post published; read here is the mail as Mailhook's API shows it,
//! `{"data":{"id":"ie_…", "type":"inbound_email", "attributes":{"from", "subject",
//! "text_body", "html_body", "received_at"}}}`, or the same fields without the
//! wrapping. A webhook belongs to one address and the mail does not name it, so
//! `recipient` says it. There is no original: a message is put together from the
//! fields and marked so. The id is the delivery's key; without one the content is.
//!
//! Received: `received_at`.
//!
//! Answers: 200 stored or duplicate, 401 not proven, 413 too large, 503 not
//! stored. What Mailhook does with them is not published either; it keeps mail for
//! a day at least, where its API has it. A body of another shape is kept and
//! buried as `payload_malformed`, so that nothing is lost should it differ.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add mailhook` prints.

use pipeline::{SourceName, Timestamp};
use serde_json::{Value, json};

use super::{Contract, Handshake, Provider};
use crate::identity::Identity;
use crate::json::{self, Object};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::settings::Knob;
use crate::sources::SourceFlaw;
use crate::{
    Answers, Coverage, DecodeError, Decoded, InboundMail, Post, RawRequest, Sample, SourceSettings,
    Verified, VerifyError,
};

pub(crate) const CONTRACT: Contract = Contract {
    name: "mailhook",
    answers: Answers::PLAIN,
    setup: &[
        "Set `recipient` to the address at Mailhook, and `url_token` of the source.",
        "At Mailhook, create a webhook for that address (`POST /api/v1/webhooks` with `url` and \
         `email_address_id`) to the source's URL with `?token=…` behind it.",
        "For further addresses add further sources.",
    ],
    coverage: Coverage::Password,
    handshake: Handshake::None,
    api: Some("https://app.mailhook.co/api/v1"),
    knobs: &[Knob::Recipient, Knob::Api, Knob::Poll],
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
        let letter = letter(fields).ok_or(DecodeError::Malformed)?;
        let mail = InboundMail::rebuilt(vec![self.recipient.clone()], &letter)?;
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

/// The mail's fields; none without a sender and a text.
fn letter(fields: &Object) -> Option<Letter<'_>> {
    let field = |name| json::text(fields, &[name]);
    let (text, html) = (field("text_body"), field("html_body"));
    let headers = [
        ("From", Some(field("from")?)),
        ("Subject", field("subject")),
    ];
    (text.is_some() || html.is_some()).then(|| Letter {
        headers: headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        text,
        html,
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
    fn the_shape_of_the_api_is_read_with_and_without_its_wrapping() {
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
    fn another_shape_is_malformed_and_another_type_ignored() {
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
