//! Finds where a piece of CSS ends. An end character inside quotes or brackets, or after a
//! backslash, does not count.

use std::borrow::Cow;

/// The offset of the first of these bytes outside quotes, brackets and escapes.
pub(super) fn find<const N: usize>(text: &str, wanted: &[u8; N]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if depth == 0 && wanted.contains(&byte) {
            return Some(at);
        }
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' | b'\'' => skip_string(&mut bytes, byte),
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Skips to the end of a string, which ends at its quote or with its line.
fn skip_string(bytes: &mut impl Iterator<Item = (usize, u8)>, quote: u8) {
    while let Some((_, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if byte == quote || byte == b'\n' {
            return;
        }
    }
}

/// Splits at the first of these bytes outside quotes, brackets and escapes.
pub(super) fn split<'t, const N: usize>(
    text: &'t str,
    wanted: &[u8; N],
) -> (&'t str, Option<&'t str>) {
    match find(text, wanted) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// Splits `prelude { body } after`. Inner braces stay in the body.
pub(super) fn block(css: &str) -> Option<(&str, &str, &str)> {
    let open = find(css, b"{")?;
    let (prelude, rest) = (css.get(..open)?, css.get(open + 1..)?);
    let mut depth = 1_usize;
    let mut bytes = rest.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' | b'\'' => skip_string(&mut bytes, byte),
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((prelude, rest.get(..at)?, rest.get(at + 1..)?));
        }
    }
    Some((prelude, rest, ""))
}

/// The text with its escapes decoded: `d\69splay` is `display`.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = escape.bytes().take(6).take_while(u8::is_ascii_hexdigit);
        let digits = digits.count();
        if digits == 0 {
            let next = escape.chars().next();
            out.extend(next);
            rest = escape.get(next.map_or(0, char::len_utf8)..).unwrap_or("");
            continue;
        }
        let (code, after) = escape.split_at(digits);
        let decoded = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        out.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = after.strip_prefix([' ', '\n', '\t']).unwrap_or(after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

pub(super) fn without_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.replace("<!--", "").replace("-->", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_inside_quotes_brackets_or_escapes_is_skipped() {
        assert_eq!(split("a:'x;y';b", b";"), ("a:'x;y'", Some("b")));
        assert_eq!(split("a:url(;);b", b";"), ("a:url(;)", Some("b")));
        assert_eq!(split(r"a\;b;c", b";"), (r"a\;b", Some("c")));
        assert_eq!(
            block(".x{a:'}';b:c} .y{}"),
            Some((".x", "a:'}';b:c", " .y{}"))
        );
        assert_eq!(block("a{b{c}d}e"), Some(("a", "b{c}d", "e")));
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(unescaped(r"d\69splay"), "display");
        assert_eq!(unescaped(r"\000078 y"), "xy");
        assert_eq!(unescaped(r"sm\:hidden"), "sm:hidden");
    }
}
