//! What a provider wants of a request, and what it reads in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Provider;
use crate::mail_provider::wire::{Reply, header};

impl Provider {
    /// The error reply to a request that the contract does not allow; `None` if it is allowed.
    pub(super) fn refusal(self, head: &str, body: &str) -> Option<Reply> {
        if !self.has_credentials(head) {
            return Some(Reply::new(401, &json!({"ErrorCode": 10})));
        }
        if !self.is_complete(head, body) {
            let status = match self {
                Self::Postmark | Self::Resend | Self::Ses => 422,
                _ => 400,
            };
            return Some(Reply::new(status, &json!({"ErrorCode": 300})));
        }
        None
    }

    fn has_credentials(self, head: &str) -> bool {
        let authorization = header(head, "authorization").unwrap_or_default();
        match self {
            Self::AgentMail | Self::Nylas | Self::Resend | Self::SendGrid => {
                authorization.starts_with("Bearer ")
            }
            Self::Brevo => header(head, "api-key").is_some(),
            Self::Mailgun => {
                let password = authorization.strip_prefix("Basic ").unwrap_or_default();
                let password = STANDARD.decode(password).unwrap_or_default();
                password.starts_with(b"api:")
            }
            Self::Postmark => header(head, "x-postmark-server-token").is_some(),
            Self::Ses => {
                authorization.starts_with("AWS4-HMAC-SHA256 Credential=")
                    && authorization.contains("/ses/aws4_request")
                    && header(head, "x-amz-date").is_some()
            }
            Self::SparkPost => !authorization.is_empty() && !authorization.contains(' '),
        }
    }

    fn is_complete(self, head: &str, body: &str) -> bool {
        let wanted: &[&str] = match self {
            Self::AgentMail => &["/to/0", "/subject", "/text"],
            Self::Brevo => &["/sender/email", "/to/0/email", "/subject", "/textContent"],
            Self::Mailgun => &["/from", "/to", "/subject", "/text"],
            Self::Nylas => &["/to/0/email", "/from/0/email", "/subject", "/body"],
            Self::Postmark => &["/From", "/To", "/Subject", "/TextBody"],
            Self::Resend => &["/from", "/to/0", "/subject", "/text"],
            Self::SendGrid => &[
                "/personalizations/0/to/0/email",
                "/from/email",
                "/subject",
                "/content/0/value",
            ],
            Self::Ses => &["/Content/Raw/Data", "/Destination/ToAddresses/0"],
            Self::SparkPost => &[
                "/recipients/0/address/email",
                "/content/from/email",
                "/content/subject",
                "/content/text",
            ],
        };
        let content = self.content(body);
        let is_there = |place: &&str| content.pointer(place).is_some_and(Value::is_string);
        let kind = match self {
            Self::Mailgun => "application/x-www-form-urlencoded",
            _ => "application/json",
        };
        header(head, "content-type").as_deref() == Some(kind) && wanted.iter().all(is_there)
    }

    /// The key by which a repetition is recognised; empty where there is none.
    pub(in crate::mail_provider) fn idempotency_key(self, head: &str, body: &str) -> String {
        match self {
            Self::Brevo => {
                let content = self.content(body);
                let key = content.pointer("/headers/idempotencyKey");
                key.and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            Self::AgentMail | Self::Nylas | Self::Resend | Self::SparkPost => {
                header(head, "idempotency-key").unwrap_or_default()
            }
            Self::Mailgun | Self::Postmark | Self::SendGrid | Self::Ses => String::new(),
        }
    }

    /// The headers of the mail, as text. They name the send: the request itself may carry
    /// another key.
    pub(super) fn own_headers(self, body: &str) -> String {
        let content = self.content(body);
        let place = match self {
            Self::AgentMail | Self::Brevo | Self::Resend | Self::SendGrid => "/headers",
            Self::Mailgun => "/h:X-Maillatch-Send",
            Self::Nylas => "/custom_headers",
            Self::Postmark => "/Headers",
            Self::SparkPost => "/content/headers",
            Self::Ses => {
                let data = content.pointer("/Content/Raw/Data").and_then(Value::as_str);
                let message = STANDARD.decode(data.unwrap_or_default());
                return String::from_utf8(message.unwrap_or_default()).unwrap_or_default();
            }
        };
        let headers = content.pointer(place);
        headers.map(Value::to_string).unwrap_or_default()
    }

    /// The body of a request; a form as an object, and `null` if it cannot be read.
    pub(super) fn content(self, body: &str) -> Value {
        match self {
            Self::Mailgun => form_urlencoded::parse(body.as_bytes()).collect(),
            _ => serde_json::from_str(body).unwrap_or_default(),
        }
    }
}
