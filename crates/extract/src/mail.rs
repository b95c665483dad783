//! Decodes the bodies that a mail program would show.

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::parsers::MessageStream;

use crate::header::{Headers, parsed_line};
use crate::lines;
use crate::steps::Steps;
use crate::structure::{Leaf, Structure};
use crate::url_text;

const MAX_ENCODED_WORDS: usize = 200;
/// Steps charged for decoding a body, besides its bytes.
const PER_BODY: usize = 500;
const PER_BODY_BYTE: usize = 10;
/// The lines of flowed text are joined one by one, and each byte may be a line.
const PER_FLOWED_BYTE: usize = 18;

/// The decoded bodies of a mail.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) text: String,
    pub(crate) html: String,
    /// The mail ended in the middle of a body.
    pub(crate) cut: bool,
    /// The bodies come from an attached message.
    pub(crate) forwarded: bool,
    /// A part was left out, because a field that says what it is was too long.
    pub(crate) left_out: bool,
}

/// Decodes every part that is shown inline. Attachments are not decoded.
pub(crate) fn bodies(structure: &Structure<'_>, steps: &Steps<'_>) -> Bodies {
    let own = joined(&structure.leaves, 0, steps);
    let left_out = structure
        .leaves
        .iter()
        .any(|leaf| leaf.headers.dropped_content);
    let own = Bodies { left_out, ..own };
    let is_blank = own.text.trim().is_empty() && own.html.trim().is_empty();
    let attached = structure
        .leaves
        .iter()
        .filter(|leaf| leaf.messages == 1 && is_shown(leaf))
        .count();
    if is_blank && attached > 0 {
        return Bodies {
            forwarded: true,
            left_out,
            ..joined(&structure.leaves, 1, steps)
        };
    }
    own
}

fn joined(leaves: &[Leaf<'_>], messages: usize, steps: &Steps<'_>) -> Bodies {
    let mut bodies = Bodies::default();
    for leaf in leaves
        .iter()
        .filter(|leaf| leaf.messages == messages && is_shown(leaf))
    {
        let is_flowed = leaf.kind.flowed && leaf.kind.is_plain();
        let per_byte = if is_flowed {
            PER_FLOWED_BYTE
        } else {
            PER_BODY_BYTE
        };
        if !steps.charge(PER_BODY + per_byte * leaf.body.len()) {
            break;
        }
        let text = decoded(leaf);
        let body = if leaf.kind.is_html() {
            &mut bodies.html
        } else {
            &mut bodies.text
        };
        if !body.is_empty() {
            body.push('\n');
        }
        if is_flowed {
            body.push_str(&unflowed(&text, leaf.kind.deletes_space));
        } else {
            body.push_str(&text);
        }
        bodies.cut |= leaf.cut;
    }
    bodies
}

fn is_shown(leaf: &Leaf<'_>) -> bool {
    let attached = leaf
        .headers
        .first("Content-Disposition")
        .is_some_and(|value| {
            value
                .trim_ascii_start()
                .to_ascii_lowercase()
                .starts_with(b"attachment")
        });
    (leaf.kind.is_html() || leaf.kind.is_plain())
        && !attached
        && !leaf.kind.is_named()
        && !leaf.headers.dropped_content
}

fn decoded(leaf: &Leaf<'_>) -> String {
    let encoding = leaf
        .headers
        .first("Content-Transfer-Encoding")
        .map(|value| value.trim_ascii().to_ascii_lowercase());
    let bytes = match encoding.as_deref() {
        Some(b"base64") => base64_lenient(leaf.body),
        Some(b"quoted-printable") => quoted_printable_decode(leaf.body),
        _ => None,
    };
    let bytes = bytes.as_deref().unwrap_or(leaf.body);
    to_text(bytes, leaf.kind.charset.as_deref(), leaf.kind.is_html())
}

/// Decodes Base64, skipping other characters and adding missing padding.
fn base64_lenient(body: &[u8]) -> Option<Vec<u8>> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut clean: Vec<u8> = body
        .iter()
        .copied()
        .take_while(|byte| *byte != b'=')
        .filter(is_digit)
        .collect();
    if clean.len() % 4 == 1 {
        clean.pop();
    }
    clean.resize(clean.len().next_multiple_of(4), b'=');
    base64_decode(&clean)
}

fn to_text(bytes: &[u8], stated: Option<&str>, is_html: bool) -> String {
    let is_any_of = |names: &[&str]| {
        stated.is_some_and(|charset| {
            let mut names = names.iter();
            names.any(|name| charset.trim().eq_ignore_ascii_case(name))
        })
    };
    let is_utf8 = is_any_of(&["utf-8", "utf8"]);
    let is_ascii = is_any_of(&["us-ascii", "ascii"]);
    let fallback = || {
        if is_html && stated.is_none() {
            meta_charset(bytes)
        } else {
            None
        }
    };
    if (is_utf8 || is_ascii || stated.is_none())
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    }
    if is_utf8 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let decoder = stated
        .filter(|_| !is_ascii)
        .and_then(|charset| charset_decoder(charset.trim().as_bytes()))
        .or_else(|| fallback().and_then(|charset| charset_decoder(charset.as_bytes())));
    match decoder {
        Some(decode) => decode(bytes),
        None => undeclared(bytes),
    }
}

/// Text whose character set is not stated, or not known. Mail programs take what is not
/// UTF-8 for the Western character set of Windows, which includes Latin-1.
fn undeclared(bytes: &[u8]) -> String {
    match (std::str::from_utf8(bytes), charset_decoder(b"windows-1252")) {
        (Err(_), Some(decode)) => decode(bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The character set that an HTML page states in its head.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..bytes.len().min(1_024))?).to_ascii_lowercase();
    let (_, rest) = head.split_once("charset=")?;
    let name = rest.trim_start_matches(['"', '\'']);
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(name.len());
    name.get(..end).map(str::to_owned)
}

/// Joins the lines that `format=flowed` broke. A signature separator ends in a space
/// too, but is a line of its own.
fn unflowed(text: &str, deletes_space: bool) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut lines = lines::without_ends(text).peekable();
    while let Some(line) = lines.next() {
        let is_soft = line.ends_with(' ') && line != "-- ";
        let next = lines.peek().copied().unwrap_or_default();
        if is_soft && !deletes_space && cuts_url(line, next) {
            joined.push_str(line.trim_end_matches(' '));
            joined.push('\n');
        } else if is_soft {
            joined.push_str(if deletes_space {
                line.trim_end_matches(' ')
            } else {
                line
            });
        } else {
            joined.push_str(line);
            joined.push('\n');
        }
    }
    joined
}

/// Whether the line break cuts a URL in two. The break is kept, so that the link is
/// seen to be broken.
fn cuts_url(line: &str, next: &str) -> bool {
    let last = line.trim_end().rsplit(' ').next().unwrap_or_default();
    last.contains("://") && url_text::continues(last, next)
}

/// A header as text with its encoded words decoded; empty if it has too many.
pub(crate) fn header_text(headers: &Headers<'_>, name: &str, steps: &Steps<'_>) -> String {
    let value = headers.first(name).map(undeclared);
    let parsed = |value: String| parsed_line(value.as_bytes(), MAX_ENCODED_WORDS, steps);
    let Some(line) = value.and_then(parsed) else {
        return String::new();
    };
    let text = MessageStream::new(&line).parse_unstructured();
    text.as_text().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_base64_is_decoded_leniently() {
        let text = |body: &[u8]| String::from_utf8(base64_lenient(body).unwrap()).unwrap();
        assert_eq!(text(b"WW91ciBjb2Rl"), "Your code");
        assert_eq!(text(b"WW91\r\n!!ciBj b2Rl"), "Your code");
        assert_eq!(text(b"WW91ciBjb2Q"), "Your cod");
        assert_eq!(text(b"WW91ciBjb2RlA"), "Your code");
    }

    #[test]
    fn charset_is_taken_from_the_header_then_from_the_page() {
        assert_eq!(to_text(b"caf\xe9", Some("iso-8859-1"), false), "café");
        assert_eq!(to_text("café".as_bytes(), None, false), "café");
        let page = b"<meta charset=\"windows-1251\"><p>\xea\xee\xe4</p>";
        assert!(to_text(page, None, true).ends_with("<p>код</p>"));
    }

    #[test]
    fn bytes_without_a_usable_charset_are_read_as_latin_1() {
        let latin_1 = b"Best\xe4tigungscode";
        for stated in [None, Some("us-ascii"), Some("no-such-thing")] {
            assert_eq!(to_text(latin_1, stated, false), "Bestätigungscode");
        }
        let broken = to_text(latin_1, Some("utf-8"), false);
        assert_eq!(broken, "Best\u{fffd}tigungscode", "what is stated counts");
        let (headers, _) = Headers::read(b"Subject: Best\xe4tigung\r\n\r\n", b'\n').unwrap();
        let steps = Steps::for_size(0);
        assert_eq!(header_text(&headers, "Subject", &steps), "Bestätigung");
    }

    #[test]
    fn flowed_lines_are_joined() {
        assert_eq!(unflowed("a \nb\nc", false), "a b\nc\n");
        assert_eq!(unflowed("https://a.com/ \nb", true), "https://a.com/b\n");
        assert_eq!(unflowed("-- \nx", false), "-- \nx\n");
    }
}
