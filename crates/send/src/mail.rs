//! A mail that is ready to send, and its form as a message of RFC 5322.
//!
//! The message is plain ASCII: what is not goes into encoded words and base64. So a
//! server needs no extension, and no server changes the bytes on the way.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::{ProviderKey, Recipient, Timestamp};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::encoded_word::encoded;
use crate::mailbox::Mailbox;

/// The longest line that a message may have without its line end.
const LONGEST_LINE: usize = 998;
/// How many bytes of base64 a line holds.
const BASE64_LINE: usize = 76;

/// The header that names a send of ours. Mail that comes back with it is our own.
pub(crate) const SEND_HEADER: &str = ProviderKey::HEADER;

/// A complete mail to one recipient. It is made once; what is sent later is a copy of
/// its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The sender.
    pub(crate) from: Mailbox,
    /// The recipient.
    pub(crate) to: Recipient,
    /// The subject, in one line.
    pub(crate) subject: String,
    /// The plain text, with CRLF line ends.
    pub(crate) text: String,
    /// The same as HTML.
    pub(crate) html: Option<String>,
    /// The mail that it answers.
    pub(crate) answers: Option<Answered>,
    /// The provider key, which every retry of this send has.
    pub(crate) key: ProviderKey,
    /// When it was made.
    pub(crate) date: Timestamp,
}

/// The mail that a reply answers, as far as its headers say. The ids have their angle
/// brackets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Its Message-ID.
    pub(crate) message_id: Option<String>,
    /// The ids that the reply refers to, from the oldest to that of the answered mail.
    pub(crate) references: Vec<String>,
}

impl Mail {
    /// The Message-ID, without angle brackets. It contains half of the provider key, so
    /// that a copy of the mail names its send, and others cannot guess it.
    pub(crate) fn message_id(&self) -> String {
        self.key.message_id(self.from.domain())
    }

    /// The headers that every provider is given: that the mail is automatic, which send
    /// it is, and what it answers.
    pub(crate) fn own_headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        let automatic = match &self.answers {
            Some(answered) => {
                let parent = answered.message_id.clone();
                headers.extend(parent.map(|id| ("In-Reply-To", id)));
                if !answered.references.is_empty() {
                    headers.push(("References", answered.references.join(" ")));
                }
                "auto-replied"
            }
            None => "auto-generated",
        };
        headers.push(("Auto-Submitted", automatic.to_owned()));
        headers.push((SEND_HEADER, self.key.to_string()));
        headers
    }

    /// The same headers as a JSON object, for APIs that take one.
    pub(crate) fn own_headers_as_json(&self) -> serde_json::Value {
        self.own_headers().into_iter().collect()
    }

    /// The mail as a message, in ASCII, with CRLF line ends.
    pub(crate) fn message(&self) -> String {
        let mut message = String::new();
        let mut header = |name: &str, value: &str| {
            message.push_str(name);
            message.push_str(": ");
            message.push_str(value);
            message.push_str("\r\n");
        };
        header("From", &self.from.encoded());
        header("To", self.to.as_str());
        header("Subject", &encoded(&self.subject));
        header("Message-ID", &format!("<{}>", self.message_id()));
        header("Date", &date(self.date));
        for (name, value) in self.own_headers() {
            header(name, &value.replace("> <", ">\r\n <"));
        }
        header("MIME-Version", "1.0");
        message.push_str(&self.parts());
        message
    }

    /// The rest of the message, from the header that says what it contains.
    fn parts(&self) -> String {
        let text = part("text/plain", &self.text);
        let Some(html) = &self.html else {
            return text;
        };
        // Half of a secret key appears in no text.
        let boundary = self.message_id().replace('@', "_");
        let html = part("text/html", html);
        format!(
            "Content-Type: multipart/alternative; boundary=\"{boundary}\"\r\n\r\n\
             --{boundary}\r\n{text}\r\n--{boundary}\r\n{html}\r\n--{boundary}--\r\n"
        )
    }
}

/// A text with its headers.
fn part(kind: &str, text: &str) -> String {
    let is_plain = text.is_ascii() && text.split("\r\n").all(|line| line.len() <= LONGEST_LINE);
    if is_plain {
        return format!("Content-Type: {kind}; charset=utf-8\r\n\r\n{text}");
    }
    let mut coded = STANDARD.encode(text);
    let mut lines = String::new();
    while !coded.is_empty() {
        let rest = coded.split_off(coded.len().min(BASE64_LINE));
        lines.push_str(&coded);
        lines.push_str("\r\n");
        coded = rest;
    }
    format!(
        "Content-Type: {kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{lines}"
    )
}

/// A moment, as a message states it.
fn date(at: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp(at.as_seconds())
        .ok()
        .and_then(|at| at.format(&Rfc2822).ok())
        .unwrap_or_else(|| "Thu, 01 Jan 1970 00:00:00 +0000".to_owned())
}

/// The text with CRLF line ends, whatever it had before.
pub(crate) fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\n', "\r\n")
}

#[cfg(test)]
mod tests;
