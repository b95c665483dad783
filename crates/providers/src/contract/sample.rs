//! A correctly signed post in a provider's own format: for trying out a source without
//! its provider, and for end-to-end tests.

use pipeline::Timestamp;
use serde_json::json;

use crate::payload::rebuilt_message::{Body, RebuiltMessage};

/// The mail in a sample post.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The delivery id, if the provider has one: letters, digits, `-`, `_`.
    pub id: &'a str,
    /// When the post is sent.
    pub at: Timestamp,
    /// The sender.
    pub from: &'a str,
    /// The recipient.
    pub recipient: &'a str,
    /// Its subject.
    pub subject: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// A post, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The query of the URL, without the `?`, if there is one.
    pub query: Option<String>,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// The body of a sample post in a provider's format, before it is signed.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Sample<'_> {
    /// The mail as RFC 822 text.
    pub(crate) fn raw(&self) -> String {
        let message_id = format!("<{}@sample.invalid>", self.id);
        let message = RebuiltMessage {
            headers: vec![
                ("From", self.from),
                ("To", self.recipient),
                ("Subject", self.subject),
                ("Message-ID", &message_id),
            ],
            text: Some(Body::utf8(self.text)),
            html: None,
        };
        String::from_utf8_lossy(&message.build()).into_owned()
    }
}

impl Shape {
    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self {
            content_type: "application/json",
            body: body.to_string().into_bytes(),
        }
    }

    pub(crate) fn form(fields: &[(&str, &str)]) -> Self {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        Self {
            content_type: "application/x-www-form-urlencoded",
            body: form.finish().into_bytes(),
        }
    }

    /// A multipart form. No value may contain the boundary.
    pub(crate) fn multipart(fields: &[(&str, &str)]) -> Self {
        let mut body = String::new();
        for (name, value) in fields {
            body.extend([
                "--=_sample\r\nContent-Disposition: form-data; name=\"",
                name,
            ]);
            body.extend(["\"\r\n\r\n", value, "\r\n"]);
        }
        body.push_str("--=_sample--\r\n");
        Self {
            content_type: "multipart/form-data; boundary=\"=_sample\"",
            body: body.into_bytes(),
        }
    }

    /// Maillatch's own payload.
    pub(crate) fn native(sample: &Sample<'_>) -> Self {
        use base64::Engine;
        let raw = base64::engine::general_purpose::STANDARD.encode(sample.raw());
        Self::json(&json!({
            "type": "email.received",
            "timestamp": sample.at.to_string(),
            "data": { "recipients": [sample.recipient], "raw": raw },
        }))
    }

    /// The post with these headers and its content type.
    pub(crate) fn with(self, headers: Vec<(String, String)>) -> Post {
        let content_type = ("content-type".to_owned(), self.content_type.to_owned());
        Post {
            query: None,
            headers: [content_type].into_iter().chain(headers).collect(),
            body: self.body,
        }
    }
}
