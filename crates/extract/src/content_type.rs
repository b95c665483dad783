//! The content type of a part.

use mail_parser::HeaderValue;
use mail_parser::parsers::MessageStream;

use crate::header::{Headers, parsed_line};
use crate::steps::Steps;

/// A field with more encoded words than this states no type. A mail may have many parts, and only
/// names of files have encoded words.
const MAX_ENCODED_WORDS: usize = 20;

/// The type of a part, lower-case, with the parameters that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub(crate) main: String,
    pub(crate) subtype: String,
    pub(crate) charset: Option<String>,
    boundary: Option<String>,
    named: bool,
    /// Lines that end in a space continue on the next line.
    pub(crate) flowed: bool,
    /// The space at the end of such a line is not part of the text.
    pub(crate) deletes_space: bool,
}

impl ContentType {
    /// The type that the headers state. Without one, a part of a digest is a message
    /// and any other part is plain text.
    pub(crate) fn of(headers: &Headers<'_>, in_digest: bool, steps: &Steps<'_>) -> Self {
        let value = headers.first("Content-Type");
        let line = value.and_then(|value| parsed_line(value, MAX_ENCODED_WORDS, steps));
        let stated = line
            .as_deref()
            .map(|value| MessageStream::new(value).parse_content_type());
        match stated {
            Some(HeaderValue::ContentType(stated)) => Self {
                main: stated.c_type.to_ascii_lowercase(),
                subtype: stated
                    .c_subtype
                    .as_deref()
                    .unwrap_or_default()
                    .to_ascii_lowercase(),
                charset: stated.attribute("charset").map(str::to_owned),
                boundary: stated.attribute("boundary").map(str::to_owned),
                named: stated.attribute("name").is_some(),
                flowed: stated
                    .attribute("format")
                    .is_some_and(|f| f.eq_ignore_ascii_case("flowed")),
                deletes_space: stated
                    .attribute("delsp")
                    .is_some_and(|d| d.eq_ignore_ascii_case("yes")),
            },
            _ if in_digest => Self::plain("message", "rfc822"),
            _ => Self::plain("text", "plain"),
        }
    }

    fn plain(main: &str, subtype: &str) -> Self {
        Self {
            main: main.to_owned(),
            subtype: subtype.to_owned(),
            charset: None,
            boundary: None,
            named: false,
            flowed: false,
            deletes_space: false,
        }
    }

    /// The boundary of a multipart, if RFC 2046 allows it. A multipart without a
    /// usable boundary is read as text.
    pub(crate) fn boundary(&self) -> Option<&[u8]> {
        let boundary = self
            .boundary
            .as_deref()
            .filter(|_| self.main == "multipart")?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
        let valid = (1..=70).contains(&boundary.len())
            && boundary.bytes().all(allowed)
            && !boundary.ends_with(' ');
        valid.then_some(boundary.as_bytes())
    }

    pub(crate) fn is_message(&self) -> bool {
        self.main == "message" && matches!(self.subtype.as_str(), "rfc822" | "global")
    }

    pub(crate) fn is_html(&self) -> bool {
        self.main == "text" && self.subtype == "html"
    }

    /// Plain text, or a broken part that mail programs show as plain text.
    pub(crate) fn is_plain(&self) -> bool {
        (self.main == "text" && matches!(self.subtype.as_str(), "plain" | ""))
            || self.main == "multipart"
    }

    /// Whether the part has a file name.
    pub(crate) fn is_named(&self) -> bool {
        self.named
    }
}
