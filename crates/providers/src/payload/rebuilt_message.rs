//! A message rebuilt from parsed fields, for providers that do not send the original.
//! It holds what they sent and nothing more.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Cannot occur in base64 text, so it cannot occur in a body.
const BOUNDARY: &str = "=_maillatch_rebuilt";

/// The parsed fields of a mail.
#[derive(Debug, Default)]
pub(crate) struct RebuiltMessage<'a> {
    /// Header fields in order. Those about the original's MIME structure are left out,
    /// because the rebuilt message has its own structure.
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    /// The plain text.
    pub(crate) text: Option<Body<'a>>,
    /// The HTML.
    pub(crate) html: Option<Body<'a>>,
}

/// A text in some charset. It is decoded when the message is read, like any other mail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    bytes: &'a [u8],
    charset: &'a str,
}

impl<'a> Body<'a> {
    /// A text in UTF-8.
    pub(crate) fn utf8(text: &'a str) -> Self {
        Self::new(text.as_bytes(), "utf-8")
    }

    /// A text in this charset; in UTF-8 if that cannot be the name of a charset.
    pub(crate) fn new(bytes: &'a [u8], charset: &'a str) -> Self {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:+".contains(&b);
        let is_name = (1..=40).contains(&charset.len()) && charset.bytes().all(is_plain);
        let charset = if is_name { charset } else { "utf-8" };
        Self { bytes, charset }
    }
}

impl RebuiltMessage<'_> {
    /// The message as RFC 822 bytes, its text in UTF-8 (RFC 6532).
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut message = String::new();
        for (name, value) in &self.headers {
            if is_kept(name) {
                message.extend([name, ": ", &in_one_line(value), "\r\n"]);
            }
        }
        message.push_str("MIME-Version: 1.0\r\n");
        match (self.text, self.html) {
            (Some(text), Some(html)) => {
                message.extend(["Content-Type: multipart/alternative; boundary=\"", BOUNDARY]);
                message.push_str("\"\r\n\r\n");
                for (kind, body) in [("plain", text), ("html", html)] {
                    message.extend(["--", BOUNDARY, "\r\n"]);
                    push_part(&mut message, kind, body);
                }
                message.extend(["--", BOUNDARY, "--\r\n"]);
            }
            (None, Some(html)) => push_part(&mut message, "html", html),
            (Some(text), None) => push_part(&mut message, "plain", text),
            (None, None) => push_part(&mut message, "plain", Body::utf8("")),
        }
        message.into_bytes()
    }
}

fn push_part(message: &mut String, kind: &str, body: Body<'_>) {
    message.extend([
        "Content-Type: text/",
        kind,
        "; charset=",
        body.charset,
        "\r\n",
    ]);
    message.push_str("Content-Transfer-Encoding: base64\r\n\r\n");
    let mut line = 0;
    for character in STANDARD.encode(body.bytes).chars() {
        if line == 76 {
            message.push_str("\r\n");
            line = 0;
        }
        message.push(character);
        line += 1;
    }
    message.push_str("\r\n");
}

/// Whether a header field is copied into the rebuilt message.
fn is_kept(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b':');
    is_name && lower != "mime-version" && !lower.starts_with("content-")
}

/// The value without line ends, which could add header fields.
fn in_one_line(value: &str) -> String {
    value
        .split(['\r', '\n', '\0'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(message: &RebuiltMessage<'_>) -> String {
        String::from_utf8(message.build()).expect("text")
    }

    #[test]
    fn text_and_html_become_multipart_alternative() {
        let fields = RebuiltMessage {
            headers: vec![("Subject", "Höi"), ("Content-Type", "x/y")],
            text: Some(Body::utf8("code 1")),
            html: Some(Body::utf8("<b>code 1</b>")),
        };
        assert_eq!(
            build(&fields),
            "Subject: Höi\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/alternative; boundary=\"=_maillatch_rebuilt\"\r\n\r\n\
             --=_maillatch_rebuilt\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nY29kZSAx\r\n\
             --=_maillatch_rebuilt\r\nContent-Type: text/html; charset=utf-8\r\n\
             Content-Transfer-Encoding: base64\r\n\r\nPGI+Y29kZSAxPC9iPg==\r\n\
             --=_maillatch_rebuilt--\r\n"
        );
    }

    #[test]
    fn line_ends_in_a_value_add_no_header_and_no_body() {
        let fields = RebuiltMessage {
            headers: vec![
                ("Subject", "a\r\nBcc: x@y.test\r\n\r\nbody"),
                ("Evil\r\nX", "1"),
                ("", "2"),
                ("X: y", "3"),
            ],
            ..RebuiltMessage::default()
        };
        let message = build(&fields);
        let (head, _) = message.split_once("\r\n\r\n").expect("a head");
        assert_eq!(head.lines().count(), 4, "{head}");
        assert!(head.starts_with("Subject: a Bcc: x@y.test body\r\nMIME-Version"));
    }

    #[test]
    fn long_bodies_have_lines_of_at_most_78_characters() {
        let text = "x".repeat(1000);
        let fields = RebuiltMessage {
            text: Some(Body::utf8(&text)),
            ..RebuiltMessage::default()
        };
        assert!(build(&fields).lines().all(|line| line.len() <= 78));
    }
}
