//! Nylas, version 3.
//!
//! | | |
//! |---|---|
//! | call | `POST /v3/grants/{grant}/messages/send`, bearer token |
//! | key | header `Idempotency-Key`, unique in the grant |
//! | window | 1 hour after the first request; used for 50 minutes |
//! | look-up | `GET /v3/grants/{grant}/messages` by recipient; our header names the mail |
//! | test mode | none known; use an address of your own as the recipient |
//!
//! A repetition with the same body gets the first answer again, also if that was an error:
//! an error proves nothing about the first request, and a mail that was limited is sent an
//! hour later. The status 409 says that the first request is in progress or that the body
//! is another one. The status 422 says that the mailbox's own provider failed while it
//! sent, so the mail may have left. The status 404 concerns the grant.
//!
//! A mail has one body: the HTML if there is one, and the text otherwise.
//!
//! <https://developer.nylas.com/docs/v3/email/idempotent-send/>,
//! <https://developer.nylas.com/docs/v3/email/sending-errors/>

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::acceptance::{Acceptance, LookUp};
use crate::http::{Answer, Http, below};
use crate::mail::{Mail, SEND_HEADER};
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::status::{acceptance, by_status, looked_up};
use crate::transport::Transport;

/// The hour that Nylas keeps a key, less a margin.
const WINDOW: Duration = Duration::from_mins(50);

/// The API of Nylas.
pub(crate) struct Nylas {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    /// The grant: the mailbox that mail is sent from.
    pub(crate) grant: String,
    pub(crate) http: Http,
}

impl Nylas {
    /// Where the API usually is. That of the European Union has another address.
    pub(crate) const API: &str = "https://api.us.nylas.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "nylas";
}

#[async_trait]
impl Transport for Nylas {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let header = |(name, value): (&str, String)| json!({"name": name, "value": value});
        let headers: Vec<Value> = mail.own_headers().into_iter().map(header).collect();
        let body = json!({
            "from": [mail.from.as_json()],
            "to": [{"email": mail.to.as_str()}],
            "subject": mail.subject,
            "body": mail.html.as_ref().unwrap_or(&mail.text),
            "is_plaintext": mail.html.is_none(),
            "custom_headers": headers,
        });
        let path = ["v3", "grants", &self.grant, "messages", "send"];
        Prepared::request(Self::NAME, mail, &path, &body)
    }

    async fn hand_over(&self, mail: &Prepared, key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let request = self
            .http
            .post(url, &mail.body)
            .bearer_auth(self.api_key.expose_secret())
            .header("idempotency-key", key.to_string());
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

    fn window(&self) -> Option<Duration> {
        Some(WINDOW)
    }

    async fn look_up(&self, mail: &Prepared, key: &ProviderKey) -> LookUp {
        // The list is one level above the path that sends.
        let mut segments = mail.segments();
        segments.pop();
        let mut url = below(&self.api, &segments);
        url.query_pairs_mut().extend_pairs([
            ("fields", "include_headers"),
            ("limit", "20"),
            ("to", &mail.to),
        ]);
        let request = self.http.get(url);
        let request = request.bearer_auth(self.api_key.expose_secret());
        looked_up(self.http.answer_to(request).await, found, &key.to_string())
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    match answer.status {
        200..300 => Acceptance::with_id(answer.text_at("/data/id")),
        // The content or the only recipient was rejected.
        402 => Acceptance::refused("refused_by_provider"),
        404 => Acceptance::sender_unfit("grant_unknown"),
        409 => Acceptance::maybe("in_progress"),
        422 => Acceptance::maybe("provider_error"),
        _ => by_status(answer),
    }
}

/// What an answer to a look-up means. Only a mail with the key in our header counts; the
/// others are other mail to the same recipient.
fn found(answer: &Answer, key: &str) -> LookUp {
    let json = answer.json();
    let messages = json.get("data").and_then(Value::as_array);
    let (200, Some(messages)) = (answer.status, messages) else {
        return LookUp::Unknown;
    };
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let is_key = |header: &Value| {
        let name = text(header, "name").unwrap_or_default();
        name.eq_ignore_ascii_case(SEND_HEADER) && text(header, "value").as_deref() == Some(key)
    };
    let is_ours = |mail: &&Value| {
        let headers = mail.get("headers").and_then(Value::as_array);
        headers.is_some_and(|headers| headers.iter().any(is_key))
    };
    let ours = messages.iter().find(is_ours);
    match ours.and_then(|mail| text(mail, "id")) {
        Some(provider_id) => LookUp::Sent { provider_id },
        None => LookUp::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, check};

    #[test]
    fn answers_have_the_documented_meaning() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit, Sent};
        let error = |name: &str| format!(r#"{{"error":{{"type":"{name}"}}}}"#);
        check(
            meaning,
            &[
                (200, r#"{"data":{"id":"m1","grant_id":"g"}}"#, Sent("m1")),
                (202, r#"{"data":{"id":"m1"}}"#, Sent("m1")),
                (200, r#"{"data":{"id":""}}"#, Maybe),
                (200, r#"{"data":{}}"#, Maybe),
                (202, r#"{"request_id":"r1"}"#, Maybe),
                (200, "<html>", Maybe),
                (302, "", Maybe),
                (400, &error("api.invalid_idempotency_key"), Refused),
                (401, &error("unauthorized"), SenderUnfit),
                (402, "", Refused),
                (403, "", SenderUnfit),
                (404, &error("grant.not_found"), SenderUnfit),
                (408, "", Maybe),
                (409, &error("api.concurrent_idempotent_request"), Maybe),
                (409, &error("api.invalid_idempotent_request"), Maybe),
                (422, "", Maybe),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, "", Maybe),
                (504, "", Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_a_mail_with_the_key_of_the_send_in_its_header() {
        let list = |name: &str, key: &str| {
            format!(
                r#"{{"data":[{{"id":"m0"}},
                   {{"id":"m1","headers":[{{"name":"{name}","value":"{key}"}}]}}]}}"#
            )
        };
        let sent = LookUp::Sent {
            provider_id: "m1".to_owned(),
        };
        for (status, body, expected) in [
            (200, list("X-Maillatch-Send", "ml-1"), sent.clone()),
            (200, list("x-maillatch-send", "ml-1"), sent),
            (200, list("X-Maillatch-Send", "ml-2"), LookUp::Absent),
            (200, list("Subject", "ml-1"), LookUp::Absent),
            (200, r#"{"data":[]}"#.to_owned(), LookUp::Absent),
            (200, "{}".to_owned(), LookUp::Unknown),
            (404, r#"{"data":[]}"#.to_owned(), LookUp::Unknown),
        ] {
            assert_eq!(
                found(&Answer::of(status, &body), "ml-1"),
                expected,
                "{body}"
            );
        }
    }
}
