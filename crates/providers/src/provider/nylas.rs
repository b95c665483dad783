//! Nylas v3.
//!
//! Request: `X-Nylas-Signature`, the lower-case hex of HMAC-SHA-256 over the body with the
//! destination's `webhook_secret`, taken literally. No time is signed: only the delivery's
//! row stops a replay. The body is `{"id", "type":"message.created",
//! "webhook_delivery_attempt", "data":{"object":{…}}}`. It counts the attempts, so only
//! `data` distinguishes a retry from other content. The type may have suffixes
//! (`.truncated`, `.transformed`, `.cleaned`). Nylas also posts mail that the mailbox itself
//! has sent; that is closed as `own_mail`, and proves a send if its `headers` are posted and
//! have the provider key. The recipient is the setting `recipient`, or else
//! everybody in `to`, `cc` and `bcc`. The message is rebuilt from the fields. A
//! truncated post has no body; then the original is fetched from
//! `GET /v3/grants/{grant}/messages/{id}` with `fields=raw_mime`. Without an `api_key` the
//! delivery is dead-lettered as `message_not_included`.
//!
//! Received: `data.object.date`, in seconds: when the mailbox's server received the mail,
//! not a header of the mail.
//!
//! Answers:
//!
//! | status | when | what the provider does | evidence |
//! |---|---|---|---|
//! | 200 | stored or duplicate; also to the `GET` with a `challenge`, which is echoed | done | Nylas's documents on webhooks |
//! | 503 | not proven, too large, not stored, or a body that is cut off, slow or compressed | makes three attempts within 20 minutes | the same; its documents list 408, 429 and 502 to 507 as retried |
//!
//! A 4xx may not be retried, so none is sent to an authentic post.
//!
//! Set-up: the steps in `setup` below, which `maillatch source add nylas` prints.

use serde_json::Value;

use pipeline::{Reason, Timestamp};

use crate::contract::answers::Answers;
use crate::contract::polling::{PollClient, Polling};
use crate::contract::sample::{Sample, Shape};
use crate::contract::source_add::PASTE_SECRET;
use crate::contract::symmetric::Symmetric;
use crate::contract::{Contract, Handshake, Posts};
use crate::encoding::Encoding;
use crate::payload::json::Object;
use crate::payload::mail::InboundMail;
use crate::payload::rebuilt_message::{Body, RebuiltMessage};
use crate::payload::remote_mail::{Holds, RemoteMail};
use crate::payload::sent_event::SentEvent;
use crate::payload::{DecodeError, Decoded, json};
use crate::proof::Coverage;
use crate::proof::identity::Identity;
use crate::proof::key::{Digest, KeyForm, Keys};
use crate::proof::scheme::{Family, Part, Scheme};
use crate::proof::signature::Layout;
use crate::settings::Setting;

pub(crate) const CONTRACT: Contract = Contract {
    name: "nylas",
    source_name: "nylas",
    posts: Posts::Fields,
    polling: Some(Polling::with(PollClient::Nylas)),
    asks: &[PASTE_SECRET],
    answers: Answers::RETRY_ON_5XX,
    setup: &[
        "In Nylas, Notifications, create a webhook to the source's URL for `message.created`.",
        "Leave compressed delivery off.",
        "Copy the webhook secret into the source's `secrets`.",
        "Set `recipient` to the mailbox's address if it is also reached by Cc, Bcc or an alias.",
        "For mails that Nylas truncates, copy an API key into `api_key`; outside the US also set \
         `api_url`.",
    ],
    coverage: Coverage::Body,
    handshake: Handshake::Echo("challenge"),
    api: Some("https://api.us.nylas.com"),
    takes: &[
        Setting::Secrets,
        Setting::Recipient,
        Setting::Api,
        Setting::Poll,
    ],
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
            identity: Identity::FieldWithAttempts {
                id: "id",
                content: "data",
            },
            decoder: {
                let recipient = settings.recipient.clone();
                Box::new(move |_, body| decode(recipient.as_deref(), body))
            },
            shape: Some(shape),
        }))
    },
};

fn decode(recipient: Option<&str>, body: &[u8]) -> Result<Decoded, DecodeError> {
    let event = json::object(body)?;
    let kind = json::text(&event, &["type"]).ok_or(DecodeError::Malformed)?;
    let Some(suffixes) = kind.strip_prefix("message.created") else {
        return Ok(Decoded::other_event());
    };
    let message = json::at(&event, &["data", "object"])
        .and_then(Value::as_object)
        .ok_or(DecodeError::Malformed)?;
    if is_sent(message) {
        let id = json::text(message, &["id"]);
        let sent = SentEvent::of(message.get("headers"), id);
        let own_mail = Decoded::Ignored(Reason::new("own_mail"));
        return Ok(sent.map_or(own_mail, |sent| Decoded::Sent(vec![sent])));
    }
    let html = match json::text(message, &["body"]) {
        Some(html) if !suffixes.contains(".truncated") => html,
        _ => return remote_mail(message, recipient),
    };
    let (from, to) = (people(message, "from"), people(message, "to"));
    let rebuilt = RebuiltMessage {
        headers: [
            ("From", Some(from.as_str())),
            ("To", Some(to.as_str())),
            ("Subject", json::text(message, &["subject"])),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        text: None,
        html: Some(Body::utf8(html)),
    };
    let mail = InboundMail::rebuilt(recipients(message, recipient), &rebuilt)?;
    let id = provider_id(message).ok();
    let mail = mail.received(received_at(message));
    Ok(Decoded::mail(mail.known_as(id.as_deref())))
}

fn received_at(message: &Object) -> Option<Timestamp> {
    json::moment_at(message, &["date"])
}

/// Nylas's id of a mail; it is unique within its grant only.
fn provider_id(message: &Object) -> Result<String, DecodeError> {
    let id = json::text(message, &["id"]).ok_or(DecodeError::Malformed)?;
    let grant = json::text(message, &["grant_id"]).unwrap_or_default();
    Ok(format!("{grant} {id}"))
}

fn remote_mail(message: &Object, recipient: Option<&str>) -> Result<Decoded, DecodeError> {
    let field = |name: &str| json::text(message, &[name]).ok_or(DecodeError::Malformed);
    let recipients = recipients(message, recipient);
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
        stated_from: None,
        sender: None,
        flags: Vec::new(),
    }))
}

/// Whether the mailbox itself has sent this mail.
fn is_sent(message: &Object) -> bool {
    json::list(message, &["folders"])
        .iter()
        .filter_map(Value::as_str)
        .any(|folder| folder.eq_ignore_ascii_case("sent"))
}

/// The mailbox that the source's `recipient` names, or else everybody whom the mail is
/// addressed to: the mailbox may be in `cc` or `bcc`, and the post does not name it.
fn recipients(message: &Object, recipient: Option<&str>) -> Vec<String> {
    if let Some(recipient) = recipient {
        return vec![recipient.to_owned()];
    }
    ["to", "cc", "bcc"]
        .into_iter()
        .flat_map(|role| json::list(message, &[role]))
        .filter_map(|person| person.get("email")?.as_str())
        .map(str::to_owned)
        .collect()
}

/// People as a header field lists them. Names are quoted, so that a name cannot look
/// like an address.
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

/// A sample mail as the body of a post.
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
