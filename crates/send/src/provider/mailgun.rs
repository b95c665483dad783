//! Mailgun.
//!
//! | | |
//! |---|---|
//! | call | `POST /v3/{domain}/messages`, a form; basic authentication as the user `api` |
//! | key | none: a repetition would be a second mail |
//! | window | none |
//! | look-up | `GET /v3/{domain}/events` by Message-ID; 3 to 30 days, by plan |
//! | test mode | a sandbox domain, which sends to authorized recipients alone |
//!
//! Mailgun keeps the Message-ID of a mail, and its events name the variable with the
//! provider key. Each mail has a variable and no tag, as an account may have few tags.
//! The status 404 concerns the domain, and can be temporary.
//!
//! <https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages>,
//! <https://documentation.mailgun.com/docs/mailgun/quickstart-guide/responses>

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use crate::acceptance::{Acceptance, LookUp};
use crate::http::{Answer, Http, below};
use crate::mail::Mail;
use crate::prepared::{Field, Prepared};
use crate::reach::Reach;
use crate::status::{acceptance, by_status, looked_up};
use crate::transport::{TAG, Transport};

/// The user name of every key.
const USER: &str = "api";

/// Mailgun's API.
pub(crate) struct Mailgun {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    /// The domain that mail is sent from, as Mailgun knows it.
    pub(crate) domain: String,
    pub(crate) http: Http,
}

impl Mailgun {
    /// Where the API usually is. That of the European Union has another address.
    pub(crate) const API: &str = "https://api.mailgun.net";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "mailgun";
}

#[async_trait]
impl Transport for Mailgun {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let field = |name: &str, value: &str| -> Field { (name.to_owned(), value.to_owned()) };
        let mut fields = vec![
            field("from", &mail.from.plain()),
            field("to", mail.to.as_str()),
            field("subject", &mail.subject),
            field("text", &mail.text),
        ];
        fields.extend(mail.html.iter().map(|html| field("html", html)));
        for (name, value) in mail.own_headers() {
            fields.push(field(&format!("h:{name}"), &value));
        }
        let message_id = format!("<{}>", mail.message_id());
        fields.push(field("h:Message-Id", &message_id));
        fields.push(field(&format!("v:{TAG}"), &mail.key.to_string()));
        fields.push(field("o:tracking", "no"));
        let path = ["v3", &self.domain, "messages"];
        Prepared::form(Self::NAME, mail, &path, &fields)
    }

    async fn hand_over(&self, mail: &Prepared, _key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let request = self.http.post_form(url, &mail.body);
        let request = request.basic_auth(USER, Some(self.api_key.expose_secret()));
        acceptance(self.http.answer_to(request).await, meaning)
    }

    fn place(&self) -> String {
        self.api.to_string()
    }

    async fn reach(&self) -> Reach {
        self.http.reach(&self.api).await
    }

    fn timeout(&self) -> Duration {
        self.http.longest()
    }

    async fn look_up(&self, mail: &Prepared, key: &ProviderKey) -> LookUp {
        // The events are beside the path that sends.
        let mut segments = mail.segments();
        segments.pop();
        segments.push("events");
        let mut url = below(&self.api, &segments);
        let domain = mail.from.rsplit('@').next().unwrap_or_default();
        let message_id = key.message_id(domain);
        url.query_pairs_mut().extend_pairs([
            ("event", "accepted"),
            ("ascending", "no"),
            ("limit", "1"),
            ("message-id", &message_id),
        ]);
        let request = self.http.get(url);
        let request = request.basic_auth(USER, Some(self.api_key.expose_secret()));
        looked_up(self.http.answer_to(request).await, found, &key.to_string())
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    match answer.status {
        200..300 => Acceptance::with_id(answer.text("id")),
        404 => Acceptance::sender_unfit("domain_unknown"),
        _ => by_status(answer),
    }
}

/// What an answer to a look-up means. Only an event with the key as our variable counts.
fn found(answer: &Answer, key: &str) -> LookUp {
    let json = answer.json();
    let events = json.get("items").and_then(Value::as_array);
    let (200, Some(events)) = (answer.status, events) else {
        return LookUp::Unknown;
    };
    let text = |event: &Value, place: &str| event.pointer(place)?.as_str().map(str::to_owned);
    let variable = format!("/user-variables/{TAG}");
    let is_ours = |event: &&Value| {
        text(event, "/event").as_deref() == Some("accepted")
            && text(event, &variable).as_deref() == Some(key)
    };
    let ours = events.iter().find(is_ours);
    match ours.and_then(|event| text(event, "/message/headers/message-id")) {
        Some(provider_id) => LookUp::Sent { provider_id },
        None if events.is_empty() => LookUp::Absent,
        None => LookUp::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, check};

    #[test]
    fn answers_have_the_documented_meaning() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit, Sent};
        check(
            meaning,
            &[
                (
                    200,
                    r#"{"id":"<m1@mail.example.com>","message":"Queued. Thank you."}"#,
                    Sent("<m1@mail.example.com>"),
                ),
                (200, r#"{"id":"","message":"Queued. Thank you."}"#, Maybe),
                (200, r#"{"message":"Queued. Thank you."}"#, Maybe),
                (200, "<html>", Maybe),
                (302, "", Maybe),
                (400, r#"{"message":"to parameter is missing"}"#, Refused),
                (401, "Forbidden", SenderUnfit),
                (402, r#"{"message":"Request failed"}"#, Maybe),
                (403, r#"{"message":"not allowed to send"}"#, SenderUnfit),
                (404, r#"{"message":"Domain not found"}"#, SenderUnfit),
                (408, "", Maybe),
                (413, "", Refused),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, "", Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_an_accepted_event_with_the_key_of_the_send() {
        let event = |kind: &str, key: &str| {
            format!(
                r#"{{"items":[{{"event":"{kind}","user-variables":{{"maillatch":"{key}"}},
                   "message":{{"headers":{{"message-id":"m1@x"}}}}}}]}}"#
            )
        };
        let sent = LookUp::Sent {
            provider_id: "m1@x".to_owned(),
        };
        for (status, body, expected) in [
            (200, event("accepted", "ml-1"), sent),
            (200, event("rejected", "ml-1"), LookUp::Unknown),
            (200, event("accepted", "ml-2"), LookUp::Unknown),
            (200, r#"{"items":[]}"#.to_owned(), LookUp::Absent),
            (200, "{}".to_owned(), LookUp::Unknown),
            (404, r#"{"items":[]}"#.to_owned(), LookUp::Unknown),
        ] {
            assert_eq!(
                found(&Answer::of(status, &body), "ml-1"),
                expected,
                "{body}"
            );
        }
    }
}
