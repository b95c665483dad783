//! Nylas v3.
//!
//! Request: `X-Nylas-Signature`, the lower-case hex of HMAC-SHA-256 over the
//! body under the destination's `webhook_secret`, taken literally. No time is
//! signed: a replay is stopped by its row alone. The body is
//! `{"id", "type":"message.created", "webhook_delivery_attempt", "data":{"object":{…}}}`;
//! it counts its tries, so `data` alone tells a retry from other content. The type
//! may have suffixes (`.truncated`, `.transformed`, `.cleaned`). Nylas fires for mail that
//! the mailbox itself has sent, too; that is closed as `own_mail`. The webhook
//! carries parsed fields, put together again here; a truncated one carries no
//! body, and the original is fetched from `GET /v3/grants/{grant}/messages/{id}`
//! with `fields=raw_mime`. Without an `api_key` it is kept and buried as
//! `message_not_included`.
//!
//! Received: `data.object.date`, in seconds: when the mailbox's server received it, and
//! not the sender's header.
//!
//! Answers: 200 stored or duplicate, and to the `GET` with a `challenge` that checks a
//! new webhook and is echoed; 401 not proven; 413 too large; 503 not stored. Nylas
//! makes three tries within 20 minutes on any status but 2xx.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add nylas` prints.

use serde_json::Value;

use pipeline::{Reason, Timestamp};

use super::{Contract, Handshake};
use crate::identity::Identity;
use crate::json::{self, Object};
use crate::key::{Digest, KeyForm, Keys};
use crate::letter::Letter;
use crate::sample::Shape;
use crate::scheme::{Family, Part, Scheme};
use crate::settings::Knob;
use crate::signature::{Encoding, Layout};
use crate::symmetric::Symmetric;
use crate::{Answers, Coverage, DecodeError, Decoded, Holds, InboundMail, RemoteMail, Sample};

pub(crate) const CONTRACT: Contract = Contract {
    name: "nylas",
    answers: Answers::PLAIN,
    setup: &[
        "In Nylas, Notifications, create a webhook to the source's URL for `message.created`.",
        "Leave compressed delivery off.",
        "Copy the webhook secret into the source's `secrets`.",
        "For mails that Nylas truncates, copy an API key into `api_key`; outside of the US set \
         `api_url`, too.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::Echo("challenge"),
    api: Some("https://api.us.nylas.com"),
    knobs: &[Knob::Secrets, Knob::Api, Knob::Poll],
    build: |settings| {
        Ok(Box::new(Symmetric {
            scheme: Scheme {
                families: vec![Family::signature("x-nylas-signature")],
                layout: Layout::Single {
                    prefix: String::new(),
                    encoding: Encoding::Hex,
                },
                signed: vec![Part::Body],
                stamp: None,
            },
            keys: Keys::new(&settings.secrets, KeyForm::Literal, Digest::Sha256)?,
            identity: Identity::FieldOfTry {
                id: "id",
                content: "data",
            },
            decoder: Box::new(decode),
            shape: Some(shape),
        }))
    },
};

fn decode(_content_type: &str, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    let kind = json::text(&event, &["type"]).ok_or(DecodeError::Malformed)?;
    let Some(suffixes) = kind.strip_prefix("message.created") else {
        return Ok(Decoded::other_event());
    };
    let message = json::at(&event, &["data", "object"])
        .and_then(Value::as_object)
        .ok_or(DecodeError::Malformed)?;
    if is_sent(message) {
        return Ok(Decoded::Ignored(Reason::new("own_mail")));
    }
    let html = match json::text(message, &["body"]) {
        Some(html) if !suffixes.contains(".truncated") => html,
        _ => return remote_mail(message),
    };
    let (from, to) = (people(message, "from"), people(message, "to"));
    let letter = Letter {
        headers: [
            ("From", Some(from.as_str())),
            ("To", Some(to.as_str())),
            ("Subject", json::text(message, &["subject"])),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        text: None,
        html: Some(html),
    };
    let mail = InboundMail::rebuilt(addresses(message, "to"), &letter)?;
    let id = provider_id(message).ok();
    let mail = mail.received(received_at(message));
    Ok(Decoded::mail(mail.known_as(id.as_deref())))
}

fn received_at(message: &Object) -> Option<Timestamp> {
    json::moment_at(message, &["date"])
}

/// Nylas's id for a mail, which is one of its grant's.
fn provider_id(message: &Object) -> Result<String, DecodeError> {
    let id = json::text(message, &["id"]).ok_or(DecodeError::Malformed)?;
    let grant = json::text(message, &["grant_id"]).unwrap_or_default();
    Ok(format!("{grant} {id}"))
}

fn remote_mail(message: &Object) -> Result<Decoded, DecodeError> {
    let field = |name: &str| json::text(message, &[name]).ok_or(DecodeError::Malformed);
    let recipients = addresses(message, "to");
    if recipients.is_empty() {
        return Err(DecodeError::NoRecipient);
    }
    let path = ["v3", "grants", field("grant_id")?, "messages", field("id")?];
    Ok(Decoded::RemoteMail(RemoteMail {
        recipients,
        path: path.map(str::to_owned).to_vec(),
        query: Some(("fields", "raw_mime")),
        provider_id: Some(provider_id(message)?),
        holds: Holds::Base64Url(&["data", "raw_mime"]),
        received_at: received_at(message),
        sender: None,
    }))
}

/// Whether the mailbox has sent this mail itself.
fn is_sent(message: &Object) -> bool {
    json::list(message, &["folders"])
        .iter()
        .filter_map(Value::as_str)
        .any(|folder| folder.eq_ignore_ascii_case("sent"))
}

fn addresses(message: &Object, role: &str) -> Vec<String> {
    json::list(message, &[role])
        .iter()
        .filter_map(|person| person.get("email")?.as_str())
        .map(str::to_owned)
        .collect()
}

/// People as a header field lists them; a name is quoted, so that none can pass
/// for another address.
fn people(message: &Object, role: &str) -> String {
    json::list(message, &[role])
        .iter()
        .filter_map(|person| {
            let email = person.get("email")?.as_str()?;
            let name = person.get("name").and_then(Value::as_str).unwrap_or("");
            let name = name.replace(['"', '\\'], "");
            Some(format!("\"{name}\" <{email}>"))
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn shape(sample: &Sample<'_>) -> Shape {
    let person = |email: &str| serde_json::json!([{ "name": "", "email": email }]);
    Shape::json(&serde_json::json!({
        "specversion": "1.0",
        "type": "message.created",
        "id": sample.id,
        "webhook_delivery_attempt": 1,
        "data": { "object": {
            "id": sample.id,
            "folders": ["INBOX"],
            "date": sample.at.as_seconds(),
            "from": person(sample.from),
            "to": person(sample.recipient),
            "subject": sample.subject,
            "body": format!("<p>{}</p>", sample.text.replace('&', "&amp;").replace('<', "&lt;")),
        } },
    }))
}
