//! Postmark.
//!
//! | | |
//! |---|---|
//! | call | `POST /email`, header `X-Postmark-Server-Token` |
//! | key | none: a repetition would be a second mail |
//! | window | none |
//! | look-up | `GET /messages/outbound` by tag; 45 days by default |
//! | test mode | the token `POSTMARK_API_TEST`, which the API accepts and sends nothing for |
//!
//! Errors have the status 422 and a number. The tag of each mail is its provider key.
//!
//! <https://postmarkapp.com/developer/api/email-api>,
//! <https://postmarkapp.com/developer/api/overview#error-codes>

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
use crate::transport::Transport;

const TOKEN: &str = "x-postmark-server-token";

/// Postmark's API.
pub(crate) struct Postmark {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    /// The message stream.
    pub(crate) stream: String,
    pub(crate) http: Http,
}

impl Postmark {
    /// Where the API usually is.
    pub(crate) const API: &str = "https://api.postmarkapp.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "postmark";
}

#[async_trait]
impl Transport for Postmark {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let header = |(name, value): (&str, String)| json!({"Name": name, "Value": value});
        let mut headers: Vec<Value> = mail.own_headers().into_iter().map(header).collect();
        // Without the second header Postmark replaces the first.
        headers.push(header(("Message-ID", format!("<{}>", mail.message_id()))));
        headers.push(header(("X-PM-KeepID", "true".to_owned())));
        let mut body = json!({
            "From": mail.from.plain(),
            "To": mail.to.as_str(),
            "Subject": mail.subject,
            "TextBody": mail.text,
            "Headers": headers,
            "Tag": mail.key.to_string(),
            "MessageStream": self.stream,
            "TrackOpens": false,
            "TrackLinks": "None",
        });
        if let (Some(html), Some(body)) = (&mail.html, body.as_object_mut()) {
            body.insert("HtmlBody".to_owned(), html.as_str().into());
        }
        Prepared::request(Self::NAME, mail, &["email"], &body)
    }

    async fn hand_over(&self, mail: &Prepared, _key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let request = self.http.post(url, &mail.body);
        let request = request.header(TOKEN, self.api_key.expose_secret());
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

    async fn look_up(&self, _mail: &Prepared, key: &ProviderKey) -> LookUp {
        let mut url = below(&self.api, &["messages", "outbound"]);
        let key = key.to_string();
        url.query_pairs_mut()
            .extend_pairs([("count", "1"), ("offset", "0"), ("tag", &key)]);
        let request = self.http.get(url);
        let request = request.header(TOKEN, self.api_key.expose_secret());
        looked_up(self.http.answer_to(request).await, found, &key)
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    let code = answer.json().get("ErrorCode").and_then(Value::as_u64);
    match (answer.status, code) {
        (200..300, Some(0)) => Acceptance::with_id(answer.text("MessageID")),
        // The token, the sender's address or the account cannot send.
        (422, Some(10 | 400 | 401 | 405 | 412 | 413)) => Acceptance::sender_unfit("unauthorized"),
        (422, Some(406)) => Acceptance::refused("recipient_refused"),
        (422, Some(429)) => Acceptance::not_sent("rate_limited", answer.wait),
        // Maintenance says nothing about what was accepted before.
        (422, Some(100)) => Acceptance::maybe("provider_error"),
        _ => by_status(answer),
    }
}

/// What an answer to a look-up means. Only a mail whose tag is the key counts.
fn found(answer: &Answer, key: &str) -> LookUp {
    let json = answer.json();
    let messages = json.get("Messages").and_then(Value::as_array);
    let (200, Some(messages)) = (answer.status, messages) else {
        return LookUp::Unknown;
    };
    let text = |mail: &Value, name: &str| mail.get(name)?.as_str().map(str::to_owned);
    let ours = messages
        .iter()
        .find(|mail| text(mail, "Tag").as_deref() == Some(key));
    match ours.and_then(|mail| text(mail, "MessageID")) {
        Some(provider_id) => LookUp::Sent { provider_id },
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
                    r#"{"ErrorCode":0,"Message":"OK","MessageID":"0a129aee"}"#,
                    Sent("0a129aee"),
                ),
                (200, r#"{"ErrorCode":0,"Message":"OK"}"#, Maybe),
                (200, r#"{"ErrorCode":300,"MessageID":"0a129aee"}"#, Maybe),
                (200, "<html>", Maybe),
                (401, r#"{"ErrorCode":10}"#, SenderUnfit),
                (403, "", SenderUnfit),
                (413, "", Refused),
                (415, "", Refused),
                (422, r#"{"ErrorCode":300}"#, Refused),
                (422, r#"{"ErrorCode":406}"#, Refused),
                (422, r#"{"ErrorCode":405}"#, SenderUnfit),
                (422, r#"{"ErrorCode":412}"#, SenderUnfit),
                (422, r#"{"ErrorCode":400}"#, SenderUnfit),
                (422, r#"{"ErrorCode":100}"#, Maybe),
                (422, r#"{"ErrorCode":429}"#, NotSent),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, r#"{"ErrorCode":100}"#, Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_a_mail_with_the_key_of_the_send_as_its_tag() {
        let sent = LookUp::Sent {
            provider_id: "m1".to_owned(),
        };
        for (status, body, expected) in [
            (
                200,
                r#"{"Messages":[{"Tag":"ml-1","MessageID":"m1"}]}"#,
                sent,
            ),
            (200, r#"{"TotalCount":0,"Messages":[]}"#, LookUp::Absent),
            (
                200,
                r#"{"Messages":[{"Tag":"x","MessageID":"m1"}]}"#,
                LookUp::Unknown,
            ),
            (200, "{}", LookUp::Unknown),
            (500, r#"{"Messages":[]}"#, LookUp::Unknown),
        ] {
            assert_eq!(found(&Answer::of(status, body), "ml-1"), expected, "{body}");
        }
    }
}
