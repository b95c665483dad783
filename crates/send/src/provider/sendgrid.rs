//! `SendGrid`.
//!
//! | | |
//! |---|---|
//! | call | `POST /v3/mail/send`, bearer token |
//! | key | none: a repetition would be a second mail |
//! | window | none |
//! | look-up | none: the lists of sent mail do not name our argument |
//! | test mode | `sandbox_mode`, which this sender never sets: it answers 200 and sends nothing |
//!
//! An accepted mail is answered with 202, without a body; its id is in the header
//! `X-Message-Id`. The argument of each mail is its provider key, which the events of
//! `SendGrid` name. A category would be easier to find, but categories are for groups of
//! mail, and one for each mail slows the account down.
//!
//! <https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send>,
//! <https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors>

use std::time::Duration;

use async_trait::async_trait;
use pipeline::ProviderKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use crate::acceptance::Acceptance;
use crate::http::{Answer, Http, below};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::status::{acceptance, by_status};
use crate::transport::{TAG, Transport};

/// The API of `SendGrid`.
pub(crate) struct SendGrid {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    pub(crate) http: Http,
}

impl SendGrid {
    /// Where the API usually is. That of the European Union has another address.
    pub(crate) const API: &str = "https://api.sendgrid.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "sendgrid";
}

#[async_trait]
impl Transport for SendGrid {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let mut content = vec![json!({"type": "text/plain", "value": mail.text})];
        let html = mail.html.iter();
        content.extend(html.map(|html| json!({"type": "text/html", "value": html})));
        let body = json!({
            "personalizations": [{"to": [{"email": mail.to.as_str()}]}],
            "from": mail.from.as_json(),
            "subject": mail.subject,
            "content": content,
            "headers": mail.own_headers_as_json(),
            "custom_args": {TAG: mail.key.to_string()},
            "tracking_settings": {
                "click_tracking": {"enable": false, "enable_text": false},
                "open_tracking": {"enable": false},
                "subscription_tracking": {"enable": false},
            },
        });
        Prepared::request(Self::NAME, mail, &["v3", "mail", "send"], &body)
    }

    async fn hand_over(&self, mail: &Prepared, _key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let request = self.http.post(url, &mail.body);
        let request = request.bearer_auth(self.api_key.expose_secret());
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
}

/// What an answer means.
fn meaning(answer: &Answer) -> Acceptance {
    match (answer.status, &answer.message_id) {
        (202, Some(id)) => Acceptance::sent(id.as_str()),
        // The path is the same for every mail.
        (404 | 405, _) => Acceptance::sender_unfit("unusable_url"),
        _ => by_status(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, assert_kind, check};

    #[test]
    fn answers_have_the_documented_meaning() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit};
        check(
            meaning,
            &[
                (200, "", Maybe),
                (202, "", Maybe),
                (202, r#"{"id":"m1"}"#, Maybe),
                (301, "", Maybe),
                (400, r#"{"errors":[{"field":"content"}]}"#, Refused),
                (401, r#"{"errors":[{"field":null}]}"#, SenderUnfit),
                (403, r#"{"errors":[{"field":"from"}]}"#, SenderUnfit),
                (404, "", SenderUnfit),
                (405, "", SenderUnfit),
                (408, "", Maybe),
                (413, "", Refused),
                (415, "", Refused),
                (
                    429,
                    r#"{"errors":[{"message":"too many requests"}]}"#,
                    NotSent,
                ),
                (500, "", Maybe),
                (503, "", Maybe),
            ],
        );
    }

    #[test]
    fn id_of_an_accepted_mail_is_read_from_its_header() {
        for (status, expected) in [
            (202, Kind::Sent("m1")),
            (200, Kind::Maybe),
            (500, Kind::Maybe),
            (429, Kind::NotSent),
        ] {
            let answer = Answer {
                message_id: Some("m1".to_owned()),
                ..Answer::of(status, "")
            };
            assert_kind(&meaning(&answer), expected, &status.to_string());
        }
    }
}
