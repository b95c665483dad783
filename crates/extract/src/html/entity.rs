//! Character references.

use std::borrow::Cow;

use mail_parser::decoders::html::add_html_token;
use memchr::memchr;

/// No name of a character reference is longer.
const MAX_NAME: usize = 32;

/// Names that browsers accept without the semicolon.
const BARE: &[(&str, char)] = &[
    ("nbsp", '\u{a0}'),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("copy", '\u{a9}'),
    ("reg", '\u{ae}'),
    ("shy", '\u{ad}'),
];

/// Numeric references from 0x80 to 0x9f mean characters of Windows-1252.
const WINDOWS: [u32; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039,
    0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc,
    0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// The text with every reference decoded, once.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, 0) {
        match piece {
            Piece::Plain { text, .. } => out.push_str(text),
            Piece::Reference { decoded, .. } => out.push_str(&decoded),
        }
    }
    Cow::Owned(out)
}

/// A piece of text with its offset in the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// As written.
    Plain { text: &'a str, at: usize },
    /// The characters that a reference stands for, all at the offset `at`.
    Reference { decoded: Cow<'a, str>, at: usize },
}

/// Splits text that begins at `at` in the source into its pieces.
pub(super) fn pieces(text: &str, at: usize) -> impl Iterator<Item = Piece<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        let place = at + from;
        let plain = memchr(b'&', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            from += plain;
            let text = rest.get(..plain)?;
            return Some(Piece::Plain { text, at: place });
        }
        let (decoded, length) = reference_at(rest);
        from += length;
        Some(Piece::Reference { decoded, at: place })
    })
}

/// Decodes the reference at the start. An ampersand without a reference is itself.
fn reference_at(text: &str) -> (Cow<'_, str>, usize) {
    let name_end = text
        .bytes()
        .skip(1)
        .take(MAX_NAME)
        .position(|byte| !byte.is_ascii_alphanumeric() && byte != b'#')
        .map_or(text.len().min(MAX_NAME), |at| at + 1);
    let name = text.get(1..name_end).unwrap_or_default();
    let closed = text.as_bytes().get(name_end) == Some(&b';');
    let length = name_end + usize::from(closed);
    if let Some(number) = name.strip_prefix('#') {
        return match numeric(number) {
            Some(c) => (Cow::Owned(c.to_string()), length),
            None => (Cow::Borrowed("&"), 1),
        };
    }
    if closed && let Some(token) = text.get(..length) {
        let mut decoded = String::new();
        add_html_token(&mut decoded, token.as_bytes(), false);
        if decoded != token {
            return (Cow::Owned(decoded), length);
        }
    }
    // A name before an equals sign is a parameter of a URL.
    let is_parameter = text.as_bytes().get(name_end) == Some(&b'=');
    match BARE.iter().find(|(bare, _)| *bare == name) {
        Some((bare, c)) if !is_parameter => (Cow::Owned(c.to_string()), 1 + bare.len()),
        _ => (Cow::Borrowed("&"), 1),
    }
}

fn numeric(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let windows = code
        .checked_sub(0x80)
        .and_then(|index| WINDOWS.get(usize::try_from(index).ok()?));
    char::from_u32(windows.copied().unwrap_or(code)).filter(|c| *c != '\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_every_kind_are_decoded() {
        assert_eq!(decoded("a&amp;b&#49;&#x32;&eacute;&nbsp;"), "a&b12é\u{a0}");
        assert_eq!(
            decoded("&copy 2026 &#150; &unknown; & &&amp;"),
            "\u{a9} 2026 \u{2013} &unknown; & &&"
        );
        assert_eq!(decoded("?a=1&copyright=2&lt=3"), "?a=1&copyright=2&lt=3");
    }

    #[test]
    fn offsets_are_those_of_the_source() {
        let seen: Vec<_> = pieces("é&lt;x", 10).collect();
        let reference = Piece::Reference {
            decoded: "<".into(),
            at: 12,
        };
        let plain = |text, at| Piece::Plain { text, at };
        assert_eq!(seen, [plain("é", 10), reference, plain("x", 16)]);
    }
}
