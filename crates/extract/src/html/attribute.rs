//! Attributes of a start tag.

use std::borrow::Cow;

use super::entity;

/// Iterates over `name=value` pairs. A name without a value has an empty value.
pub(super) struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn value(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            return "";
        };
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, rest) = if let Some(quote) = quote {
            let inner = after.get(1..).unwrap_or_default();
            inner.split_once(quote).unwrap_or((inner, ""))
        } else {
            let end = after
                .find(|c: char| c.is_ascii_whitespace())
                .unwrap_or(after.len());
            after.split_at(end)
        };
        self.rest = rest;
        value
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self
            .rest
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // A name may begin with any character, even an equals sign.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let end = rest
            .get(first..)?
            .find(ends)
            .map_or(rest.len(), |end| end + first);
        let (name, rest) = rest.split_at(end);
        self.rest = rest;
        Some((name, entity::decoded(self.value())))
    }
}

/// The text in lower case, without a copy if it already is.
pub(super) fn lowered(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        Attributes::new(text)
            .map(|(name, value)| (name.to_owned(), value.into_owned()))
            .collect()
    }

    #[test]
    fn values_are_read_with_every_kind_of_quote() {
        let expected = [
            ("a", "1"),
            ("b", "2 3"),
            ("c", "4"),
            ("d", ""),
            ("e", "5/6"),
        ];
        let expected: Vec<_> = expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        assert_eq!(pairs(" a=1 b=\"2 3\" c = '4' d e=5/6 /"), expected);
    }

    #[test]
    fn character_references_are_decoded_once() {
        assert_eq!(
            pairs("href='?a=1&amp;b=2&amp;amp;c'"),
            [("href".into(), "?a=1&b=2&amp;c".into())]
        );
    }
}
