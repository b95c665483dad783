//! Brevo.
//!
//! | | |
//! |---|---|
//! | call | `POST /v3/smtp/email`, header `api-key` |
//! | key | `headers.idempotencyKey` in the body, a UUID |
//! | window | 30 minutes, in older documents 15; used for 10 |
//! | look-up | `GET /v3/smtp/statistics/events` by tag; 30 days by default |
//! | test mode | the header `X-Sib-Sandbox: drop`, which this sender never sets |
//!
//! A repetition is refused with 400 `duplicate_parameter` and without the first id. It is
//! not documented whether a key is kept for a request that failed, so this proves nothing,
//! and the mail is looked up. The tag of each mail is its provider key.
//!
//! <https://developers.brevo.com/reference/sendtransacemail>,
//! <https://developers.brevo.com/docs/heterogenous-versions-batch-emails>

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::acceptance::{Acceptance, LookUp};
use crate::braces::{apart_in_html, apart_in_text, headers_without_tags};
use crate::http::{Answer, Http, below};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::status::{acceptance, by_status, looked_up};
use crate::transport::Transport;

/// The shortest time that Brevo says to keep a key, less a margin.
const WINDOW: Duration = Duration::from_mins(10);

const KEY: &str = "api-key";

/// Brevo's API.
pub(crate) struct Brevo {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    pub(crate) http: Http,
}

impl Brevo {
    /// Where the API usually is.
    pub(crate) const API: &str = "https://api.brevo.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "brevo";
}

#[async_trait]
impl Transport for Brevo {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let mut headers = headers_without_tags(mail);
        if let Some(headers) = headers.as_object_mut() {
            let key = mail.key.as_uuid().to_string();
            headers.insert("idempotencyKey".to_owned(), key.into());
        }
        let mut body = json!({
            "sender": mail.from.as_json(),
            "to": [{"email": mail.to.as_str()}],
            "subject": apart_in_text(&mail.subject),
            "textContent": apart_in_text(&mail.text),
            "headers": headers,
            "tags": [mail.key.to_string()],
        });
        if let (Some(html), Some(body)) = (&mail.html, body.as_object_mut()) {
            body.insert("htmlContent".to_owned(), apart_in_html(html).into());
        }
        Prepared::request(Self::NAME, mail, &["v3", "smtp", "email"], &body)
    }

    async fn hand_over(&self, mail: &Prepared, _key: &ProviderKey) -> Acceptance {
        // The body has the key.
        let url = below(&self.api, &mail.segments());
        let request = self.http.post(url, &mail.body);
        let request = request.header(KEY, self.api_key.expose_secret());
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

    async fn look_up(&self, _mail: &Prepared, key: &ProviderKey) -> LookUp {
        let mut url = below(&self.api, &["v3", "smtp", "statistics", "events"]);
        let key = key.to_string();
        let tags = json!([key]).to_string();
        url.query_pairs_mut()
            .extend_pairs([("limit", "10"), ("tags", &tags)]);
        let request = self.http.get(url);
        let request = request.header(KEY, self.api_key.expose_secret());
        looked_up(self.http.answer_to(request).await, found, &key)
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    let code = answer.text("code").unwrap_or_default();
    match (answer.status, code.as_str()) {
        (200..300, _) => Acceptance::with_id(answer.text("messageId")),
        (400, "duplicate_parameter" | "duplicate_request") => Acceptance::maybe("key_used"),
        (402, _) | (400, "not_enough_credits") => Acceptance::sender_unfit("quota_exceeded"),
        (400, "unauthorized" | "permission_denied" | "account_under_validation") => {
            Acceptance::sender_unfit("unauthorized")
        }
        _ => by_status(answer),
    }
}

/// What an answer to a look-up means. Only an event whose tag is the key counts.
fn found(answer: &Answer, key: &str) -> LookUp {
    // Without any event there may be no list.
    let json = answer.json();
    let events = match json.get("events") {
        Some(Value::Array(events)) => events.as_slice(),
        None if json.is_object() => &[],
        _ => return LookUp::Unknown,
    };
    let text = |event: &Value, name: &str| event.get(name)?.as_str().map(str::to_owned);
    let is_ours = |event: &&Value| text(event, "tag").as_deref() == Some(key);
    let ours = events.iter().find(is_ours);
    match (
        answer.status,
        ours.and_then(|event| text(event, "messageId")),
    ) {
        (200, Some(provider_id)) => LookUp::Sent { provider_id },
        (200, None) if events.is_empty() => LookUp::Absent,
        _ => LookUp::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, check};

    #[test]
    fn answers_have_the_documented_meaning() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit, Sent};
        let error = |code: &str| format!(r#"{{"code":"{code}","message":"x"}}"#);
        check(
            meaning,
            &[
                (201, r#"{"messageId":"<m1@brevo>"}"#, Sent("<m1@brevo>")),
                (201, r#"{"messageId":""}"#, Maybe),
                (201, r#"{"messageIds":["<m1@brevo>"]}"#, Maybe),
                (202, "", Maybe),
                (301, "", Maybe),
                (400, &error("duplicate_parameter"), Maybe),
                (400, &error("duplicate_request"), Maybe),
                (400, &error("invalid_parameter"), Refused),
                (400, &error("missing_parameter"), Refused),
                (400, &error("not_enough_credits"), SenderUnfit),
                (400, &error("account_under_validation"), SenderUnfit),
                (400, &error("permission_denied"), SenderUnfit),
                (401, &error("unauthorized"), SenderUnfit),
                (402, "", SenderUnfit),
                (403, "", SenderUnfit),
                (404, "", Refused),
                (406, "", Maybe),
                (408, "", Maybe),
                (413, "", Refused),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, "", Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_an_event_with_the_key_of_the_send_as_its_tag() {
        let list =
            |tag: &str| format!(r#"{{"events":[{{"tag":"{tag}","messageId":"m1","event":"x"}}]}}"#);
        let sent = LookUp::Sent {
            provider_id: "m1".to_owned(),
        };
        for (status, body, expected) in [
            (200, list("ml-1"), sent),
            (200, list("ml-2"), LookUp::Unknown),
            (200, r#"{"events":[]}"#.to_owned(), LookUp::Absent),
            (200, "{}".to_owned(), LookUp::Absent),
            (200, "<html>".to_owned(), LookUp::Unknown),
            (401, list("ml-1"), LookUp::Unknown),
            (404, "{}".to_owned(), LookUp::Unknown),
        ] {
            assert_eq!(
                found(&Answer::of(status, &body), "ml-1"),
                expected,
                "{body}"
            );
        }
    }
}
