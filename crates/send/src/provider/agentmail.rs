//! `AgentMail`.
//!
//! | | |
//! |---|---|
//! | call | `POST /v0/inboxes/{inbox}/messages/send`, bearer token |
//! | key | header `Idempotency-Key`, unique in the organization |
//! | window | 24 hours after the first request completed; used for 20 |
//! | look-up | `GET /v0/inboxes/{inbox}/messages` by label |
//! | test mode | none known; use an inbox of your own as the recipient |
//!
//! A repetition with the same body answers with the first ids. The status 409 says both
//! that the first request is in progress and that the body is another one, so it proves
//! nothing. The label of each mail is its provider key.
//!
//! <https://docs.agentmail.to/api-reference/inboxes/messages/send>,
//! <https://docs.agentmail.to/knowledge-base/preventing-duplicate-sends>

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::acceptance::{Acceptance, LookUp};
use crate::http::{Answer, Http, below};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::status::{acceptance, by_status, looked_up};
use crate::transport::{TWENTY_HOURS, Transport};

/// `AgentMail`'s API.
pub(crate) struct AgentMail {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    /// The inbox that mail is sent from.
    pub(crate) inbox: String,
    pub(crate) http: Http,
}

impl AgentMail {
    /// Where the API usually is.
    pub(crate) const API: &str = "https://api.agentmail.to";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "agentmail";
}

#[async_trait]
impl Transport for AgentMail {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let mut body = json!({
            "to": [mail.to.as_str()],
            "subject": mail.subject,
            "text": mail.text,
            "headers": mail.own_headers_as_json(),
            "labels": [mail.key.to_string()],
        });
        if let (Some(html), Some(body)) = (&mail.html, body.as_object_mut()) {
            body.insert("html".to_owned(), html.as_str().into());
        }
        let path = ["v0", "inboxes", &self.inbox, "messages", "send"];
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
        Some(TWENTY_HOURS)
    }

    async fn look_up(&self, mail: &Prepared, key: &ProviderKey) -> LookUp {
        // The list is one level above the path that sends.
        let mut segments = mail.segments();
        segments.pop();
        let mut url = below(&self.api, &segments);
        let key = key.to_string();
        url.query_pairs_mut()
            .extend_pairs([("limit", "1"), ("labels", &key)]);
        let request = self.http.get(url);
        let request = request.bearer_auth(self.api_key.expose_secret());
        looked_up(self.http.answer_to(request).await, found, &key)
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    let name = answer.text("name").unwrap_or_default();
    match (answer.status, name.as_str()) {
        (200..300, _) => Acceptance::with_id(answer.text("message_id")),
        (403, "MessageRejectedError") => Acceptance::refused("refused_by_provider"),
        (409, _) => Acceptance::maybe("in_progress"),
        _ => by_status(answer),
    }
}

/// What an answer to a look-up means. Only a mail with the key as a label counts.
fn found(answer: &Answer, key: &str) -> LookUp {
    let json = answer.json();
    let messages = json.get("messages").and_then(Value::as_array);
    let (200, Some(messages)) = (answer.status, messages) else {
        return LookUp::Unknown;
    };
    let has_key = |mail: &&Value| {
        let labels = mail.get("labels").and_then(Value::as_array);
        labels.is_some_and(|labels| labels.iter().any(|label| label.as_str() == Some(key)))
    };
    let ours = messages.iter().find(has_key);
    match ours.and_then(|mail| mail.get("message_id")?.as_str()) {
        Some(provider_id) => LookUp::Sent {
            provider_id: provider_id.to_owned(),
        },
        None if messages.is_empty() => LookUp::Absent,
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
                    r#"{"message_id":"<m1@agentmail.to>","thread_id":"t1"}"#,
                    Sent("<m1@agentmail.to>"),
                ),
                (200, r#"{"thread_id":"t1"}"#, Maybe),
                (200, "", Maybe),
                (400, r#"{"name":"ValidationError"}"#, Refused),
                (401, "", SenderUnfit),
                (403, r#"{"name":"MessageRejectedError"}"#, Refused),
                (403, r#"{"message":"Forbidden"}"#, SenderUnfit),
                (404, r#"{"name":"NotFoundError"}"#, Refused),
                (409, r#"{"name":"ConflictError"}"#, Maybe),
                (429, "", NotSent),
                (500, "", Maybe),
                (502, "", Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_a_mail_with_the_key_of_the_send_as_a_label() {
        let sent = LookUp::Sent {
            provider_id: "m1".to_owned(),
        };
        for (status, body, expected) in [
            (
                200,
                r#"{"messages":[{"labels":["sent","ml-1"],"message_id":"m1"}]}"#,
                sent,
            ),
            (200, r#"{"count":0,"messages":[]}"#, LookUp::Absent),
            (
                200,
                r#"{"messages":[{"labels":["sent"],"message_id":"m1"}]}"#,
                LookUp::Unknown,
            ),
            (404, r#"{"messages":[]}"#, LookUp::Unknown),
        ] {
            assert_eq!(found(&Answer::of(status, body), "ml-1"), expected, "{body}");
        }
    }
}
