//! Resend.
//!
//! | | |
//! |---|---|
//! | call | `POST /emails`, bearer token |
//! | key | header `Idempotency-Key` |
//! | window | 24 hours; used for 20 |
//! | look-up | none: the list of sent mail cannot be filtered by tag |
//! | test mode | send to `delivered@resend.dev` |
//!
//! A repetition with the same body answers with the first id. With another body it answers
//! 409 `invalid_idempotent_request`: keys are kept for accepted mails, so a mail with this
//! key was accepted.
//!
//! <https://resend.com/docs/api-reference/errors>,
//! <https://resend.com/docs/dashboard/emails/idempotency-keys>

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
use crate::transport::{TAG, TWENTY_HOURS, Transport};

/// Resend's API.
pub(crate) struct Resend {
    pub(crate) api: Url,
    pub(crate) api_key: SecretString,
    pub(crate) http: Http,
}

impl Resend {
    /// Where the API usually is.
    pub(crate) const API: &str = "https://api.resend.com";
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "resend";
}

#[async_trait]
impl Transport for Resend {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let mut body = json!({
            "from": mail.from.plain(),
            "to": [mail.to.as_str()],
            "subject": mail.subject,
            "text": mail.text,
            "headers": mail.own_headers_as_json(),
            "tags": [{"name": TAG, "value": mail.key.to_string()}],
        });
        if let (Some(html), Some(body)) = (&mail.html, body.as_object_mut()) {
            body.insert("html".to_owned(), html.as_str().into());
        }
        Prepared::request(Self::NAME, mail, &["emails"], &body)
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
}

/// What an answer means.
fn meaning(answer: &Answer) -> Acceptance {
    let name = answer.text("name").unwrap_or_default();
    match (answer.status, name.as_str()) {
        (200..300, _) => Acceptance::with_id(answer.text("id")),
        (409, "invalid_idempotent_request") => Acceptance::sent(""),
        (409, "concurrent_idempotent_requests") => Acceptance::maybe("in_progress"),
        (403, "validation_error") if is_about_recipient(answer) => {
            Acceptance::refused("recipient_refused")
        }
        (429, "daily_quota_exceeded" | "monthly_quota_exceeded") => {
            Acceptance::sender_unfit("quota_exceeded")
        }
        _ => by_status(answer),
    }
}

/// An account without a verified domain may send to its owner alone. The same status and
/// name also say that a domain is not verified, which concerns the whole sender.
fn is_about_recipient(answer: &Answer) -> bool {
    let message = answer.text("message").unwrap_or_default();
    message.contains("testing emails")
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
                (200, r#"{"id":"49a3999c-0ce1"}"#, Sent("49a3999c-0ce1")),
                (200, r#"{"id":""}"#, Maybe),
                (200, r#"{"object":"email"}"#, Maybe),
                (200, "garbage", Maybe),
                (202, "", Maybe),
                (301, "", Maybe),
                (400, r#"{"name":"validation_error"}"#, Refused),
                (400, r#"{"name":"invalid_idempotency_key"}"#, Refused),
                (401, r#"{"name":"missing_api_key"}"#, SenderUnfit),
                (403, r#"{"name":"invalid_api_key"}"#, SenderUnfit),
                (
                    403,
                    r#"{"name":"validation_error","message":"The x.test domain is not verified."}"#,
                    SenderUnfit,
                ),
                (
                    403,
                    r#"{"name":"validation_error","message":"You can only send testing emails to"}"#,
                    Refused,
                ),
                (404, r#"{"name":"not_found"}"#, Refused),
                (408, "", Maybe),
                (409, r#"{"name":"concurrent_idempotent_requests"}"#, Maybe),
                (409, r#"{"name":"invalid_idempotent_request"}"#, Sent("")),
                (409, "{}", Maybe),
                (422, r#"{"name":"missing_required_field"}"#, Refused),
                (429, r#"{"name":"rate_limit_exceeded"}"#, NotSent),
                (429, r#"{"name":"daily_quota_exceeded"}"#, SenderUnfit),
                (451, r#"{"name":"security_error"}"#, Maybe),
                (500, r#"{"name":"internal_server_error"}"#, Maybe),
                (503, "", Maybe),
            ],
        );
    }
}
