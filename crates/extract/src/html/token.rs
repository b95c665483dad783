//! Splits HTML into tags and text, in one pass.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::attribute::lowered;

/// A piece of HTML with its offset in the source.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Text {
        text: &'a str,
        at: usize,
    },
    Start(Tag<'a>),
    /// The name in lower case.
    End(Cow<'a, str>),
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: Cow<'a, str>,
    /// Everything between the name and the closing bracket.
    pub(super) attributes: &'a str,
    /// The content of an element that holds no tags: script, style, title.
    pub(super) raw: &'a str,
    /// Where `raw`, or else the next token, begins.
    pub(super) at: usize,
}

/// Iterates over the tokens. Comments, declarations and instructions are skipped.
pub(super) struct Tokens<'a> {
    html: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { html, at: 0 }
    }

    /// The offset of the next token.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        self.html.get(self.at..).unwrap_or_default()
    }

    fn text(&mut self, length: usize) -> Option<Token<'a>> {
        let (at, text) = (self.at, self.rest().get(..length)?);
        self.at += length;
        Some(Token::Text { text, at })
    }

    /// Skips `<!...>`, `<?...>` and `</ ...>`. A comment without an end hides the rest
    /// of the page, as in a browser.
    fn skip_markup(&mut self) {
        let rest = self.rest();
        let length = if rest.starts_with("<!--") {
            let body = rest.as_bytes().get(4..).unwrap_or_default();
            if body.starts_with(b">") {
                Some(5)
            } else if body.starts_with(b"->") {
                Some(6)
            } else {
                comment_end(body).map(|end| 4 + end)
            }
        } else {
            memchr(b'>', rest.as_bytes()).map(|end| end + 1)
        };
        self.at += length.unwrap_or(rest.len());
    }

    fn tag(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let closing = rest.starts_with("</");
        let name_at = if closing { 2 } else { 1 };
        let after = rest.get(name_at..)?;
        let length = after
            .find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'))
            .unwrap_or(after.len());
        let name = lowered(after.get(..length)?);
        let inner = after.get(length..)?;
        // Browsers drop a tag without an end, and everything after it.
        let end = tag_end(inner.as_bytes()).unwrap_or(inner.len());
        let attributes = inner.get(..end)?;
        self.at += name_at + length + (end + 1).min(inner.len());
        if closing {
            return Some(Token::End(name));
        }
        let at = self.at;
        let raw = if is_raw(&name) {
            self.raw_content(&name)
        } else {
            ""
        };
        Some(Token::Start(Tag {
            name,
            attributes,
            raw,
            at,
        }))
    }

    /// The text up to the matching end tag. The end tag is consumed too.
    fn raw_content(&mut self, name: &str) -> &'a str {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        for start in memmem::find_iter(bytes, b"</") {
            let after = bytes.get(start + 2..).unwrap_or_default();
            let matches = after
                .get(..name.len())
                .is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()));
            if matches
                && after
                    .get(name.len())
                    .is_none_or(|next| !next.is_ascii_alphanumeric())
            {
                let close = memchr(b'>', after).map_or(bytes.len(), |end| start + 2 + end + 1);
                self.at += close;
                return rest.get(..start).unwrap_or_default();
            }
        }
        self.at = self.html.len();
        rest
    }
}

/// The offset after `-->` or `--!>`.
fn comment_end(body: &[u8]) -> Option<usize> {
    let mut ends = memchr::memchr_iter(b'>', body);
    let end = ends.find(|end| {
        let before = body.get(..*end).unwrap_or_default();
        before.ends_with(b"--") || before.ends_with(b"--!")
    });
    end.map(|end| end + 1)
}

/// The offset of the `>` that ends a tag. A `>` inside quotes does not.
fn tag_end(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = memchr::memchr3(b'>', b'"', b'\'', inner.get(at..)?)? + at;
        match inner.get(found) {
            Some(b'>') => return Some(found),
            Some(quote) if is_value_start(inner, found) => {
                at = memchr(*quote, inner.get(found + 1..)?)? + found + 2;
            }
            _ => at = found + 1,
        }
    }
}

/// Whether a quote opens a value: an equals sign comes before it.
fn is_value_start(inner: &[u8], quote: usize) -> bool {
    inner
        .get(..quote)
        .is_some_and(|before| before.trim_ascii_end().ends_with(b"="))
}

fn is_raw(name: &str) -> bool {
    matches!(
        name,
        "script" | "style" | "title" | "textarea" | "xmp" | "iframe" | "noembed" | "noframes"
    )
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            match memchr(b'<', rest.as_bytes()) {
                None => return self.text(rest.len()),
                Some(0) => match rest.as_bytes().get(1..3) {
                    Some([next, _]) if next.is_ascii_alphabetic() => return self.tag(),
                    Some([b'/', next]) if next.is_ascii_alphabetic() => return self.tag(),
                    Some([b'!' | b'?' | b'/', _]) => self.skip_markup(),
                    _ => {
                        let length = memchr(b'<', rest.as_bytes().get(1..)?)
                            .map_or(rest.len(), |next| next + 1);
                        return self.text(length);
                    }
                },
                Some(length) => return self.text(length),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        Tokens::new(html)
            .map(|token| match token {
                Token::Text { text, .. } => text.to_owned(),
                Token::Start(tag) => {
                    format!("[{}|{}|{}]", tag.name, tag.attributes.trim(), tag.raw)
                }
                Token::End(name) => format!("[/{name}]"),
            })
            .collect()
    }

    #[test]
    fn tags_text_and_quotes_are_split() {
        assert_eq!(shown("a<b c='>'>d</b>e"), "a[b|c='>'|]d[/b]e");
        assert_eq!(shown("<a href=\"x>y\">z"), "[a|href=\"x>y\"|]z");
        assert_eq!(shown("1 < 2 <3"), "1 < 2 <3");
        assert_eq!(shown("it's <p title=it's>x"), "it's [p|title=it's|]x");
    }

    #[test]
    fn comments_are_skipped() {
        assert_eq!(
            shown("a<!-- <b> 123456 -->b<!--[if mso]>x<![endif]-->c"),
            "abc"
        );
        assert_eq!(shown("a<!-->b<!--->c<!-- x --!>d"), "abcd");
        assert_eq!(shown("<!DOCTYPE html><?xml?>a<!-- open"), "a");
    }

    #[test]
    fn raw_elements_contain_no_tags() {
        assert_eq!(shown("<style>a<b{}</style>x"), "[style||a<b{}]x");
        assert_eq!(shown("<STYLE>a</Style >x"), "[style||a]x");
        assert_eq!(shown("<script>never closed"), "[script||never closed]");
    }

    #[test]
    fn tag_without_an_end_contains_the_rest_of_the_page() {
        assert_eq!(shown("a<b c"), "a[b|c|]");
        assert_eq!(shown("a<b c=\"never closed>d"), "a[b|c=\"never closed>d|]");
    }
}
