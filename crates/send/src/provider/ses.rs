//! Amazon SES, API version 2.
//!
//! | | |
//! |---|---|
//! | call | `POST /v2/email/outbound-emails`, AWS Signature Version 4 |
//! | key | none: a repetition would be a second mail |
//! | window | none |
//! | look-up | none: mail can be asked for by SES's own id alone |
//! | test mode | send to `success@simulator.amazonses.com`, which is billed |
//!
//! Errors have a type in the header `x-amzn-ErrorType`. SES replaces `Message-ID` and
//! `Date`; the header `X-Maillatch-Send` and the tag stay, and its events name the tag.
//!
//! <https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html>

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{Clock, ProviderKey};
use providers::Scope;
use secrecy::SecretString;
use serde_json::json;
use url::Url;

use crate::acceptance::Acceptance;
use crate::http::{Answer, Http, below};
use crate::mail::Mail;
use crate::prepared::Prepared;
use crate::reach::Reach;
use crate::status::{acceptance, by_status};
use crate::transport::{TAG, Transport};

/// The SES API of a region.
pub(crate) struct Ses {
    pub(crate) api: Url,
    pub(crate) scope: Scope,
    pub(crate) secret_key: SecretString,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) http: Http,
}

impl Ses {
    /// Its name in the configuration.
    pub(crate) const NAME: &str = "ses";

    /// Where the API of a region usually is.
    pub(crate) fn api(region: &str) -> String {
        format!("https://email.{region}.amazonaws.com")
    }
}

#[async_trait]
impl Transport for Ses {
    fn provider(&self) -> &'static str {
        Self::NAME
    }

    fn prepare(&self, mail: &Mail) -> Prepared {
        let body = json!({
            "FromEmailAddress": mail.from.encoded(),
            "Destination": {"ToAddresses": [mail.to.as_str()]},
            "Content": {"Raw": {"Data": STANDARD.encode(mail.message())}},
            "EmailTags": [{"Name": TAG, "Value": mail.key.to_string()}],
        });
        let path = ["v2", "email", "outbound-emails"];
        Prepared::request(Self::NAME, mail, &path, &body)
    }

    async fn hand_over(&self, mail: &Prepared, _key: &ProviderKey) -> Acceptance {
        let url = below(&self.api, &mail.segments());
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => return Acceptance::sender_unfit("unusable_url"),
        };
        let now = self.clock.now();
        let post = providers::SignedPost {
            service: "ses",
            host: &host,
            path: url.path(),
            body: mail.body.as_bytes(),
        };
        let Some(headers) = self.scope.sign_post(&self.secret_key, &post, now) else {
            return Acceptance::sender_unfit("unusable_key");
        };
        let request = self.http.post(url, &mail.body);
        let request = headers.into_iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        });
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
    if let 200..300 = answer.status {
        return Acceptance::with_id(answer.text("MessageId"));
    }
    let error = answer.error_type.clone().or_else(|| answer.text("__type"));
    let error = error.unwrap_or_default();
    // Some errors are followed by a colon and a URL, or preceded by a namespace.
    let error = error.split(':').next().unwrap_or_default();
    let error = error.rsplit('#').next().unwrap_or_default();
    match (answer.status, error) {
        (400 | 429, "TooManyRequestsException" | "ThrottlingException" | "Throttling") => {
            Acceptance::not_sent("rate_limited", answer.wait)
        }
        (400, "LimitExceededException") => Acceptance::sender_unfit("quota_exceeded"),
        (
            400,
            "AccountSuspendedException"
            | "SendingPausedException"
            | "MailFromDomainNotVerifiedException",
        ) => Acceptance::sender_unfit("unauthorized"),
        _ => by_status(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::vectors::{Kind, assert_kind, check};

    #[test]
    fn answers_have_the_documented_meaning() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit, Sent};
        check(
            meaning,
            &[
                (200, r#"{"MessageId":"0100018c-1"}"#, Sent("0100018c-1")),
                (200, "{}", Maybe),
                (200, "not json", Maybe),
                (400, r#"{"__type":"BadRequestException"}"#, Refused),
                (
                    400,
                    r#"{"__type":"ns#LimitExceededException"}"#,
                    SenderUnfit,
                ),
                (429, "", NotSent),
                (500, "", Maybe),
                (503, "", Maybe),
            ],
        );
    }

    #[test]
    fn type_of_an_error_is_read_from_its_header() {
        use Kind::{Maybe, NotSent, Refused, SenderUnfit};
        for (status, error, expected) in [
            (400, "MessageRejected", Refused),
            (400, "MailFromDomainNotVerifiedException", SenderUnfit),
            (400, "SendingPausedException:http://x/", SenderUnfit),
            (400, "AccountSuspendedException", SenderUnfit),
            (429, "TooManyRequestsException", NotSent),
            (400, "ThrottlingException", NotSent),
            (403, "SignatureDoesNotMatch", SenderUnfit),
            (404, "NotFoundException", Refused),
            (500, "InternalFailure", Maybe),
            (503, "TooManyRequestsException", Maybe),
        ] {
            let answer = Answer {
                error_type: Some(error.to_owned()),
                ..Answer::of(status, "")
            };
            assert_kind(&meaning(&answer), expected, error);
        }
    }
}
