//! HTML in a part that says it is plain text.
//!
//! A stranger may write tags into a field of an honest mail that is plain text. Read as HTML, they
//! could hide what the service wrote. So only a text that is nothing but elements counts as a
//! page, and only a link around its own address counts as that address.

use std::ops::Range;

/// Elements that a page may begin with.
const BLOCKS: [&str; 16] = [
    "html", "head", "body", "div", "table", "p", "center", "section", "article", "main", "h1",
    "h2", "h3", "h4", "h5", "h6",
];
/// Elements without an end.
const VOID: [&str; 10] = [
    "area", "base", "br", "col", "hr", "img", "input", "link", "meta", "wbr",
];
/// Elements whose text is no markup.
const RAW: [&str; 3] = ["script", "style", "title"];
/// More elements are not open at once in an honest mail.
const DEEPEST: usize = 100;
/// A tag may be this long, in bytes.
const LONGEST_TAG: usize = 4_096;
/// More links are not looked at.
const MAX_LINKS: usize = 300;

/// Whether a text is a page of HTML: it begins with a block, every element is closed in order, and
/// no text is outside.
pub(crate) fn is_page(text: &str) -> bool {
    let mut rest = text.trim_matches(is_blank);
    let mut open: Vec<&str> = Vec::new();
    let mut blocks = 0;
    while !rest.is_empty() {
        let Some(tag) = Tag::at_start(rest) else {
            let (text, after) = rest.split_at(next_sign(rest));
            // A tag that does not end would have to be searched again from each later one.
            if is_begun(text) || open.is_empty() && !text.trim_matches(is_blank).is_empty() {
                return false;
            }
            rest = after;
            continue;
        };
        let mut length = tag.length;
        match tag.kind {
            Kind::Other => {}
            Kind::End if open.pop().is_some_and(|name| is(name, tag.name)) => {}
            Kind::End => return false,
            Kind::Start if VOID.iter().any(|name| is(name, tag.name)) => {}
            Kind::Start if RAW.iter().any(|name| is(name, tag.name)) => {
                let Some(end) = end_of(rest.get(length..).unwrap_or_default(), tag.name) else {
                    return false;
                };
                length += end;
            }
            Kind::Start => {
                blocks += usize::from(BLOCKS.iter().any(|name| is(name, tag.name)));
                if blocks == 0 || open.len() >= DEEPEST {
                    return false;
                }
                open.push(tag.name);
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    blocks > 0 && open.is_empty()
}

/// Where the next `<` is that does not begin the text.
fn next_sign(text: &str) -> usize {
    let next = text.bytes().skip(1).position(|byte| byte == b'<');
    next.map_or(text.len(), |next| next + 1)
}

/// Whether a text begins as a tag does. `1 < 2` does not.
fn is_begun(text: &str) -> bool {
    let inner = text.strip_prefix('<').unwrap_or_default();
    inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

/// Where a text has tags around an address that leads to the same address:
/// `<a href="https://a.com/v">https://a.com/v</a>`.
pub(super) fn tags_around_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut from, mut links) = (0, 0);
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('<')) {
        let start = from + at;
        from = start + 1;
        let rest = text.get(start..).unwrap_or_default();
        if !rest.get(1..3).is_some_and(|name| is(name, "a ")) {
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            break;
        }
        let Some(tag) = Tag::at_start(rest) else {
            continue;
        };
        let (Kind::Start, Some(href)) = (tag.kind, tag.href()) else {
            continue;
        };
        let shown = rest.get(tag.length..).unwrap_or_default().trim_start();
        let Some(after) = shown.strip_prefix(href).map(str::trim_start) else {
            continue;
        };
        let Some(end) = Tag::at_start(after).filter(|end| is(end.name, "a")) else {
            continue;
        };
        if matches!(end.kind, Kind::End) && href.contains("://") {
            let closes = text.len() - after.len();
            found.push(start..start + tag.length);
            found.push(closes..closes + end.length);
            from = closes + end.length;
        }
    }
    found
}

#[derive(Clone, Copy)]
enum Kind {
    Start,
    End,
    /// A comment, or what begins with `<!` or `<?`.
    Other,
}

/// A tag at the start of a text.
struct Tag<'t> {
    kind: Kind,
    name: &'t str,
    attributes: &'t str,
    length: usize,
}

impl<'t> Tag<'t> {
    fn at_start(text: &'t str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        if let Some(comment) = inner.strip_prefix("!--") {
            let length = "<!--".len() + comment.find("-->")? + "-->".len();
            return Some(Self::other(length));
        }
        if inner.starts_with(['!', '?']) {
            return Some(Self::other(inner.find('>')? + 2));
        }
        let (kind, named) = match inner.strip_prefix('/') {
            Some(named) => (Kind::End, named),
            None => (Kind::Start, inner),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric();
        let end = named.find(|c| !is_name(c)).unwrap_or(named.len());
        let (name, attributes) = named.split_at(end);
        let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && attributes.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'));
        if !is_tag {
            return None;
        }
        let window = attributes.get(..attributes.floor_char_boundary(LONGEST_TAG))?;
        let attributes = window.get(..closing(window)?)?;
        Some(Self {
            kind,
            name,
            attributes,
            length: text.len() - named.len() + name.len() + attributes.len() + 1,
        })
    }

    fn other(length: usize) -> Self {
        let (name, attributes) = ("", "");
        Self {
            kind: Kind::Other,
            name,
            attributes,
            length,
        }
    }

    /// The address in quotation marks.
    fn href(&self) -> Option<&'t str> {
        let at = self.attributes.to_ascii_lowercase().find(" href=")?;
        let value = self.attributes.get(at + " href=".len()..)?;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value.get(1..)?.split(quote).next()
    }
}

/// Where the tag closes whose attributes these are.
fn closing(attributes: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in attributes.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

/// Where the end tag of a raw element ends.
fn end_of(text: &str, name: &str) -> Option<usize> {
    let is_own = |at: &usize| {
        let named = text.get(at + 2..at + 2 + name.len());
        named.is_some_and(|named| is(named, name))
    };
    let mut ends = text.match_indices("</").map(|(at, _)| at);
    let at = ends.find(is_own)?;
    Some(at + Tag::at_start(text.get(at..)?)?.length)
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_elements_alone_is_a_page() {
        for text in [
            "<!DOCTYPE html>\n<html><head><title>a < b</title></head><body>Hi<br>you</body></html>",
            "\u{feff}\r\n<HTML><BODY><P>Your code</P></Body></html>\r\n",
            "<p>Hello</p>\n\n<!-- x --><p>Your code is <b>482913</b>.</p>\n",
            "<div style='a>b'><style>p > a {}</style><img src=x> 1 < 2 </div>",
            "<table><tr><td>Code</td></tr></table>",
            "<?xml version='1.0'?><html><body></body></html>",
        ] {
            assert!(is_page(text), "{text}");
        }
    }

    #[test]
    fn plain_text_with_tags_is_no_page() {
        for text in [
            "",
            "Your code is 482913.",
            "Hello <p>Jane</p>",
            "<p>Jane</p> invited you.",
            "<p>Jane</p> invited you. <p>Jane</p>",
            "<p>Jane invited you.",
            "<p><div>Jane</p></div>",
            "</p><p>Jane</p>",
            "<jane@example.com>",
            "<https://example.com/v>",
            "<!-- <p>Jane</p>",
            "<!-- Jane -->",
            "<p>Jane</p><!-- invited you",
            "<p>Jane</p><style>",
            "<p>Jane</p><a title='>x</a>",
            "<b>Jane</b>",
            "<br>",
        ] {
            assert!(!is_page(text), "{text}");
        }
    }

    #[test]
    fn tags_around_the_address_that_they_lead_to_are_found() {
        let without_tags = |text: &str| {
            let mut text = text.to_owned();
            for range in tags_around_addresses(&text).into_iter().rev() {
                text.replace_range(range, "");
            }
            text
        };
        for (text, plain) in [
            (
                "Go <a href=\"https://a.com/v\">https://a.com/v</a>.",
                "Go https://a.com/v.",
            ),
            (
                "<A rel='x' HREF='https://a.com/v'>\n  https://a.com/v\n</A >",
                "\n  https://a.com/v\n",
            ),
        ] {
            assert_eq!(without_tags(text), plain);
        }
        for text in [
            "<a href=\"https://b.com/v\">https://a.com/v</a>",
            "<a href=\"https://a.com/v\">https://a.com/v2</a>",
            "<a href=\"https://a.com/v\">Confirm</a>",
            "<a href=\"https://a.com/v\">https://a.com/v",
            "<a href=\"Confirm\">Confirm</a>",
            "<https://a.com/v>",
        ] {
            assert_eq!(without_tags(text), text);
        }
    }
}
