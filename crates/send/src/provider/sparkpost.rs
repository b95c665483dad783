//! `SparkPost`.
//!
//! | | |
//! |---|---|
//! | call | `POST /api/v1/transmissions`, the key alone in the header `Authorization` |
//! | key | header `Idempotency-Key` |
//! | window | 24 hours; used for 20 |
//! | look-up | `GET /api/v1/events/message` by recipient, of the last day |
//! | test mode | send to an address of which the domain ends in `.sink.sparkpostmail.com` |
//!
//! A repetition with the same body answers with the first id. The status 409 says that the
//! first request is in progress (1601), or that the body is another one (1600). It is not
//! documented whether a key is kept for a request that failed, so both prove nothing. The
//! status 420 says that a limit of the account is reached and that nothing was sent. The
//! metadata of each mail has its provider key, which the events repeat.
//!
//! <https://developers.sparkpost.com/api/transmissions/>,
//! <https://developers.sparkpost.com/api/events/>

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
use crate::transport::{TAG, TWENTY_HOURS, Transport};

/// The API of `SparkPost`.
pub(crate) struct SparkPost {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    pub(crate) http: Http,
}

impl SparkPost {
    /// Where the API usually is. That of the European Union has another address.
    pub(crate) const API: &str = "https://api.sparkpost.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "sparkpost";
}

#[async_trait]
impl Transport for SparkPost {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let mut content = json!({
            "from": mail.from.as_json(),
            "subject": apart_in_text(&mail.subject),
            "text": apart_in_text(&mail.text),
            "headers": headers_without_tags(mail),
        });
        if let (Some(html), Some(content)) = (&mail.html, content.as_object_mut()) {
            content.insert("html".to_owned(), apart_in_html(html).into());
        }
        let body = json!({
            "options": {
                "transactional": true,
                "open_tracking": false,
                "click_tracking": false,
            },
            "recipients": [{"address": {"email": mail.to.as_str()}}],
            "metadata": {TAG: mail.key.to_string()},
            "content": content,
        });
        Prepared::request(Self::NAME, mail, &["api", "v1", "transmissions"], &body)
    }

    async fn hand_over(&self, mail: &Prepared, key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let request = self
            .http
            .post(url, &mail.body)
            .header("authorization", self.api_key.expose_secret())
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
        let mut url = below(&self.api, &["api", "v1", "events", "message"]);
        url.query_pairs_mut().extend_pairs([
            ("events", "injection"),
            ("per_page", "100"),
            ("recipients", &mail.to),
        ]);
        let request = self.http.get(url);
        let request = request.header("authorization", self.api_key.expose_secret());
        looked_up(self.http.answer_to(request).await, found, &key.to_string())
    }

    fn can_look_up(&self) -> bool {
        true
    }
}

/// What an answer to a send means.
fn meaning(answer: &Answer) -> Acceptance {
    let code = answer.text_at("/errors/0/code").unwrap_or_default();
    match (answer.status, code.as_str()) {
        (200..300, _) => accepted(answer),
        // The domain of the sender is not verified.
        (400, "7001") => Acceptance::sender_unfit("unauthorized"),
        (409, "1600") => Acceptance::maybe("key_used"),
        (409, _) => Acceptance::maybe("in_progress"),
        (420, _) => Acceptance::sender_unfit("quota_exceeded"),
        _ => by_status(answer),
    }
}

/// What a success means: a transmission can be made without its only recipient.
fn accepted(answer: &Answer) -> Acceptance {
    let json = answer.json();
    let count = |place: &str| json.pointer(place).and_then(Value::as_u64);
    let counts = (
        count("/results/total_accepted_recipients"),
        count("/results/total_rejected_recipients"),
    );
    match (answer.text_at("/results/id"), counts) {
        (Some(id), (Some(1), _)) => Acceptance::sent(id),
        (Some(_), (Some(0), Some(1))) => Acceptance::refused("recipient_refused"),
        _ => Acceptance::maybe("unreadable_answer"),
    }
}

/// What an answer to a look-up means. Only an event with the key in its metadata counts;
/// the others are other mail to the same recipient.
fn found(answer: &Answer, key: &str) -> LookUp {
    let json = answer.json();
    let events = json.get("results").and_then(Value::as_array);
    let (200, Some(events)) = (answer.status, events) else {
        return LookUp::Unknown;
    };
    let text = |event: &Value, place: &str| event.pointer(place)?.as_str().map(str::to_owned);
    let metadata = format!("/rcpt_meta/{TAG}");
    let is_ours = |event: &&Value| {
        text(event, "/type").as_deref() == Some("injection")
            && text(event, &metadata).as_deref() == Some(key)
    };
    let ours = events.iter().find(is_ours);
    match ours.and_then(|event| text(event, "/transmission_id")) {
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
        let made = |accepted: u8, rejected: u8| {
            format!(
                r#"{{"results":{{"total_accepted_recipients":{accepted},
                   "total_rejected_recipients":{rejected},"id":"116"}}}}"#
            )
        };
        let error = |code: &str| format!(r#"{{"errors":[{{"code":"{code}"}}]}}"#);
        check(
            meaning,
            &[
                (200, &made(1, 0), Sent("116")),
                (200, &made(0, 1), Refused),
                (200, &made(0, 0), Maybe),
                (200, r#"{"results":{"id":"116"}}"#, Maybe),
                (200, r#"{"results":{"total_accepted_recipients":1}}"#, Maybe),
                (200, "<html>", Maybe),
                (301, "", Maybe),
                (400, &error("7001"), SenderUnfit),
                (400, &error("1602"), Refused),
                (400, &error("1400"), Refused),
                (401, &error("1"), SenderUnfit),
                (403, "", SenderUnfit),
                (404, &error("1600"), Refused),
                (408, "", Maybe),
                (409, &error("1600"), Maybe),
                (409, &error("1601"), Maybe),
                (409, "", Maybe),
                (413, "", Refused),
                (420, &error("2101"), SenderUnfit),
                (422, &error("1902"), Refused),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, "", Maybe),
            ],
        );
    }

    #[test]
    fn look_up_returns_sent_only_for_an_injection_with_the_key_of_the_send_in_its_metadata() {
        let list = |kind: &str, key: &str| {
            format!(
                r#"{{"results":[{{"type":"injection","transmission_id":"115","rcpt_meta":{{}}}},
                   {{"type":"{kind}","transmission_id":"116",
                   "rcpt_meta":{{"maillatch":"{key}"}}}}]}}"#
            )
        };
        let sent = LookUp::Sent {
            provider_id: "116".to_owned(),
        };
        for (status, body, expected) in [
            (200, list("injection", "ml-1"), sent),
            (200, list("generation_failure", "ml-1"), LookUp::Absent),
            (200, list("injection", "ml-2"), LookUp::Absent),
            (200, r#"{"results":[]}"#.to_owned(), LookUp::Absent),
            (200, "{}".to_owned(), LookUp::Unknown),
            (403, list("injection", "ml-1"), LookUp::Unknown),
        ] {
            assert_eq!(
                found(&Answer::of(status, &body), "ml-1"),
                expected,
                "{body}"
            );
        }
    }
}
