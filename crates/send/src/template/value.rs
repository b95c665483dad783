//! The values of a template: each has a type with a closed alphabet and a length.

use pipeline::TemplateValue;
use serde::Deserialize;
use time::Date;
use time::format_description::well_known::Iso8601;
use url::Url;

use crate::links::is_allowed;

/// What a value may be. No type but `text` can hold a sentence, an address or a link to a
/// foreign host; a dot is missing where it could make a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Letters, digits, `-` and `_` of ASCII.
    Id,
    /// One word of letters, in any script.
    Word,
    /// A whole number.
    Integer,
    /// A number with at most one dot.
    Decimal,
    /// A day, as `2026-01-31`.
    Date,
    /// One of the listed choices.
    Choice,
    /// An https link to one of the sender's hosts.
    Link,
    /// Free text. An operator must approve each mail that has it.
    Text,
}

impl ValueKind {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Word => "word",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Date => "date",
            Self::Choice => "choice",
            Self::Link => "link",
            Self::Text => "text",
        }
    }

    /// The most characters that it has when the operator sets no limit, and the most that
    /// the operator may set.
    fn longest(self) -> (usize, usize) {
        match self {
            Self::Id => (64, 128),
            Self::Word => (40, 40),
            Self::Integer | Self::Decimal => (20, 20),
            Self::Date => (10, 10),
            Self::Choice => (200, 200),
            Self::Link => (500, 2000),
            Self::Text => (2000, 20_000),
        }
    }
}

/// One `values.NAME` of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueSettings {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ValueKind,
    /// The most characters that it has.
    pub max: Option<usize>,
    /// The choices of a `choice`.
    #[serde(default)]
    pub choices: Vec<String>,
}

impl ValueSettings {
    /// Whether the settings make sense.
    pub(super) fn is_usable(&self) -> bool {
        let (_, most) = self.kind.longest();
        let has_choices = !self.choices.is_empty();
        self.max.is_none_or(|max| (1..=most).contains(&max))
            && (has_choices == (self.kind == ValueKind::Choice))
    }

    /// The text of a given value, or nothing if it breaks the limits.
    pub(super) fn accept(&self, value: &TemplateValue, hosts: &[String]) -> Option<String> {
        let text = match value {
            TemplateValue::Text(text) => text.clone(),
            TemplateValue::Number(number) => number.to_string(),
        };
        let (usual, _) = self.kind.longest();
        let fits = !text.is_empty() && text.chars().count() <= self.max.unwrap_or(usual);
        (fits && self.is_valid(&text, hosts)).then_some(text)
    }

    fn is_valid(&self, text: &str, hosts: &[String]) -> bool {
        match self.kind {
            ValueKind::Id => text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
            ValueKind::Word => text.chars().all(char::is_alphabetic),
            ValueKind::Integer => is_digits(text.strip_prefix('-').unwrap_or(text)),
            ValueKind::Decimal => is_decimal(text.strip_prefix('-').unwrap_or(text)),
            ValueKind::Date => is_day(text),
            ValueKind::Choice => self.choices.iter().any(|choice| choice == text),
            ValueKind::Link => is_own_link(text, hosts),
            ValueKind::Text => !text
                .chars()
                .any(|c| c.is_control() && c != '\n' && c != '\r'),
        }
    }
}

/// Whether a text is a day of the calendar. ISO 8601 also knows weeks, which have a letter.
fn is_day(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_digit() || b == b'-';
    text.len() == 10 && text.bytes().all(is_plain) && Date::parse(text, &Iso8601::DATE).is_ok()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    match text.split_once('.') {
        Some((whole, part)) => is_digits(whole) && is_digits(part),
        None => is_digits(text),
    }
}

/// Whether a text is an https link to one of these hosts, spelled as a browser would.
fn is_own_link(text: &str, hosts: &[String]) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https"
        && url.as_str() == text
        && url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && is_allowed(host, hosts)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn accepts(kind: &str, value: &Value) -> bool {
        let value = match value {
            Value::Number(number) => TemplateValue::Number(number.as_i64().unwrap()),
            other => TemplateValue::Text(other.as_str().unwrap().to_owned()),
        };
        let choices = if kind == "choice" {
            json!(["Paid", "Open"])
        } else {
            json!([])
        };
        let settings = json!({"type": kind, "choices": choices});
        let settings: ValueSettings = serde_json::from_value(settings).unwrap();
        assert!(settings.is_usable());
        settings
            .accept(&value, &["example.com".to_owned()])
            .is_some()
    }

    #[test]
    fn values_within_their_alphabet_are_accepted() {
        for (kind, value) in [
            ("id", json!("order_4821-A")),
            ("word", json!("Zoë")),
            ("integer", json!(-3)),
            ("integer", json!("42")),
            ("decimal", json!("19.90")),
            ("date", json!("2026-01-31")),
            ("choice", json!("Paid")),
            ("link", json!("https://shop.example.com/orders/1?x=y")),
            ("text", json!("Anything, visit evil.test\nsecond line")),
        ] {
            assert!(accepts(kind, &value), "{kind} {value}");
        }
    }

    #[test]
    fn values_that_are_not_valid_for_their_kind_are_refused() {
        for (kind, value) in [
            ("id", json!("evil.test")),
            ("id", json!("a b")),
            ("id", json!("a\r\nBcc:x")),
            ("id", json!("")),
            ("id", json!("x".repeat(65))),
            ("id", json!("\u{ff41}")),
            ("word", json!("two words")),
            ("word", json!("a1")),
            ("integer", json!("1.5")),
            ("integer", json!("-")),
            ("integer", json!("٣")),
            ("decimal", json!("1.2.3.4")),
            ("date", json!("2026-02-30")),
            ("date", json!("2026-W05-3")),
            ("choice", json!("paid")),
            ("link", json!("http://example.com/")),
            ("link", json!("https://evil.test/")),
            ("link", json!("https://example.com@evil.test/")),
            ("link", json!("https://a@example.com/")),
            ("link", json!("https://example.com:444/")),
            ("link", json!("https://example.com/\">x")),
            ("link", json!("https://example.com/a\nb")),
            ("link", json!("javascript:alert(1)")),
            ("text", json!("a\0b")),
        ] {
            assert!(!accepts(kind, &value), "{kind} {value}");
        }
    }

    #[test]
    fn limits_above_the_types_own_are_not_usable() {
        for settings in [
            json!({"type": "id", "max": 129}),
            json!({"type": "id", "max": 0}),
            json!({"type": "choice"}),
            json!({"type": "id", "choices": ["a"]}),
        ] {
            let settings: ValueSettings = serde_json::from_value(settings).unwrap();
            assert!(!settings.is_usable(), "{settings:?}");
        }
    }
}
