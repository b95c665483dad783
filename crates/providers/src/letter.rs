//! A message put together from parsed fields, for providers that do not hand
//! over the original. It says what they said and nothing more.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Never part of base64 text, and so never part of a body.
const BOUNDARY: &str = "=_maillatch_rebuilt";

/// The parsed fields of a mail.
#[derive(Debug, Default)]
pub(crate) struct Letter<'a> {
    /// Header fields in order; those about the original's structure are left
    /// out, since the structure is ours.
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    /// The plain text.
    pub(crate) text: Option<&'a str>,
    /// The HTML.
    pub(crate) html: Option<&'a str>,
}

impl Letter<'_> {
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
            (text, None) => push_part(&mut message, "plain", text.unwrap_or_default()),
        }
        message.into_bytes()
    }
}

fn push_part(message: &mut String, kind: &str, body: &str) {
    message.extend(["Content-Type: text/", kind, "; charset=utf-8\r\n"]);
    message.push_str("Content-Transfer-Encoding: base64\r\n\r\n");
    let mut line = 0;
    for sign in STANDARD.encode(body).chars() {
        if line == 76 {
            message.push_str("\r\n");
            line = 0;
        }
        message.push(sign);
        line += 1;
    }
    message.push_str("\r\n");
}

/// A header field that may stand in a rebuilt message.
fn is_kept(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b':');
    is_name && lower != "mime-version" && !lower.starts_with("content-")
}

/// A value without line ends: one that had them could add header fields.
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

    fn build(letter: &Letter<'_>) -> String {
        String::from_utf8(letter.build()).expect("text")
    }

    #[test]
    fn text_and_html_become_alternatives() {
        let letter = Letter {
            headers: vec![("Subject", "Höi"), ("Content-Type", "x/y")],
            text: Some("code 1"),
            html: Some("<b>code 1</b>"),
        };
        assert_eq!(
            build(&letter),
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
    fn a_value_cannot_add_a_header_or_a_body() {
        let letter = Letter {
            headers: vec![
                ("Subject", "a\r\nBcc: x@y.test\r\n\r\nbody"),
                ("Evil\r\nX", "1"),
                ("", "2"),
                ("X: y", "3"),
            ],
            ..Letter::default()
        };
        let message = build(&letter);
        let (head, _) = message.split_once("\r\n\r\n").expect("a head");
        assert_eq!(head.lines().count(), 4, "{head}");
        assert!(head.starts_with("Subject: a Bcc: x@y.test body\r\nMIME-Version"));
    }

    #[test]
    fn long_bodies_are_broken_into_lines() {
        let text = "x".repeat(1000);
        let letter = Letter {
            text: Some(&text),
            ..Letter::default()
        };
        assert!(build(&letter).lines().all(|line| line.len() <= 78));
    }
}
