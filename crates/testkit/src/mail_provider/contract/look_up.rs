//! What a provider answers when it is asked for mail.

use serde_json::{Value, json};

use super::Provider;
use crate::mail_provider::accepted::{Accepted, send_key};
use crate::mail_provider::wire::Reply;

impl Provider {
    /// Answers a look-up from what was accepted.
    pub(in crate::mail_provider) fn look_up(self, head: &str, accepted: &[Accepted]) -> Reply {
        let target = head.split(' ').nth(1).unwrap_or_default();
        let accepted = accepted.iter();
        let own = accepted.filter(|mail| mail.provider == self.name() && self.fits(target, mail));
        let found: Vec<Value> = own.map(|mail| self.entry(mail)).collect();
        let body = match self {
            // Without any event there may be no list.
            Self::Brevo if found.is_empty() => json!({}),
            Self::Brevo => json!({"events": found}),
            Self::Mailgun => json!({"items": found, "paging": {}}),
            Self::Nylas => json!({"request_id": "r", "data": found}),
            Self::Postmark => json!({"TotalCount": found.len(), "Messages": found}),
            Self::SparkPost => json!({"results": found, "total_count": found.len()}),
            _ => json!({"count": found.len(), "messages": found}),
        };
        Reply::new(200, &body)
    }

    /// Whether a mail is asked for.
    fn fits(self, target: &str, mail: &Accepted) -> bool {
        match self {
            Self::Mailgun => {
                let id = self.text(mail, "/h:Message-Id");
                let asked = parameter(target, "message-id");
                asked.is_some_and(|asked| id == format!("<{asked}>"))
                    && parameter(target, "event").as_deref() == Some("accepted")
            }
            Self::Nylas => parameter(target, "to") == Some(self.text(mail, "/to/0/email")),
            Self::SparkPost => {
                let to = self.text(mail, "/recipients/0/address/email");
                parameter(target, "recipients") == Some(to)
            }
            _ => send_key(target).as_deref() == Some(mail.key.as_str()),
        }
    }

    /// A mail, as the provider lists it.
    fn entry(self, mail: &Accepted) -> Value {
        match self {
            Self::Brevo => json!({
                "event": "requests",
                "messageId": mail.id,
                "tag": self.text(mail, "/tags/0"),
            }),
            Self::Mailgun => json!({
                "event": "accepted",
                "message": {"headers": {"message-id": mail.id}},
                "user-variables": {"maillatch": self.text(mail, "/v:maillatch")},
            }),
            Self::Nylas => json!({
                "id": mail.id,
                "headers": self.content(&mail.body).get("custom_headers"),
            }),
            Self::Postmark => json!({"Tag": mail.key, "MessageID": mail.id, "Status": "Sent"}),
            Self::SparkPost => json!({
                "type": "injection",
                "transmission_id": mail.id,
                "rcpt_meta": self.content(&mail.body).get("metadata"),
            }),
            _ => json!({"labels": ["sent", mail.key], "message_id": mail.id}),
        }
    }

    /// A text of the request by which a mail was sent.
    fn text(self, mail: &Accepted, place: &str) -> String {
        let content = self.content(&mail.body);
        let text = content.pointer(place).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    }
}

/// A parameter of the query.
fn parameter(target: &str, name: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find_map(|(found, value)| (found == name).then(|| value.into_owned()))
}
