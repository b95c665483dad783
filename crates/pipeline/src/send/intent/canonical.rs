//! Canonical JSON (RFC 8785), for objects of strings and integers. Equal content gives
//! equal bytes, in every language.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The largest integer that every JSON reader keeps exactly (RFC 8785, section 3.2.2.3).
const LARGEST_INTEGER: i64 = (1 << 53) - 1;

/// A flat JSON object of strings and integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanonicalObject {
    fields: Vec<(String, CanonicalScalar)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CanonicalScalar {
    Text(String),
    Integer(i64),
}

impl CanonicalObject {
    /// An object without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a field that is a string. A field of the same name is replaced.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.with(name, CanonicalScalar::Text(value.to_owned()))
    }

    /// With a field that is an integer. Integers beyond 2⁵³ − 1 are cut off there, because
    /// JSON readers would not agree on them.
    #[must_use]
    pub fn integer(self, name: &str, value: i64) -> Self {
        let value = value.clamp(-LARGEST_INTEGER, LARGEST_INTEGER);
        self.with(name, CanonicalScalar::Integer(value))
    }

    fn with(mut self, name: &str, value: CanonicalScalar) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value));
        self.fields
            .sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        self
    }

    /// The canonical text.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (index, (name, value)) in self.fields.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            push_string(&mut json, name);
            json.push(':');
            match value {
                CanonicalScalar::Text(text) => push_string(&mut json, text),
                // Writing to a string cannot fail.
                CanonicalScalar::Integer(number) => {
                    let _ = write!(json, "{number}");
                }
            }
        }
        json.push('}');
        json
    }

    /// SHA-256 of the canonical text.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.to_json().as_bytes()).into()
    }
}

/// Appends a JSON string with the escapes of RFC 8785, section 3.2.2.2.
fn push_string(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\u{8}' => json.push_str("\\b"),
            '\t' => json.push_str("\\t"),
            '\n' => json.push_str("\\n"),
            '\u{c}' => json.push_str("\\f"),
            '\r' => json.push_str("\\r"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;

    #[test]
    fn fields_are_sorted_by_utf_16_and_not_by_code_point() {
        let object = CanonicalObject::new()
            .integer("\u{fb33}", 1)
            .integer("\u{1f600}", 2)
            .text("a", "\u{2028}/\n");
        assert_eq!(
            hex(&object.digest()),
            "8f9bbd9cdd743a5b4627ec92689c1e0d058c7bb80e39b86329243c953b192e81"
        );
    }

    #[test]
    fn line_ends_change_the_fingerprint_of_an_envelope() {
        let envelope = |text: &str| {
            CanonicalObject::new()
                .text("to", "user@example.com")
                .text("from", "support")
                .text("subject", "Re: Where is order 4821?")
                .text("text", text)
                .digest()
        };
        assert_eq!(
            hex(&envelope("It left our warehouse today.\r\n")),
            "bac5f90dcf0e0950d76401b66b02ba429574cf9c5e6084e96562a0c6e528b835"
        );
        assert_eq!(
            hex(&envelope("It left our warehouse today.\n")),
            "967ee4ce26b3366fc7b301e4690be944d96cd213eb93b662f2dec623a846ddc7"
        );
    }

    #[test]
    fn control_characters_quotes_and_backslashes_are_escaped() {
        let object = CanonicalObject::new().text("k", "\u{8}\t\n\u{c}\r\u{1}\u{1f}\"\\/é\u{7f}");
        assert_eq!(
            object.to_json(),
            "{\"k\":\"\\b\\t\\n\\f\\r\\u0001\\u001f\\\"\\\\/é\u{7f}\"}"
        );
    }

    #[test]
    fn repeated_name_keeps_the_last_value() {
        let object = CanonicalObject::new().integer("a", 1).integer("a", 2);
        assert_eq!(object.to_json(), "{\"a\":2}");
    }

    #[test]
    fn integers_are_bounded_to_what_json_keeps_exactly() {
        let object = CanonicalObject::new().integer("a", i64::MAX);
        assert_eq!(object.to_json(), "{\"a\":9007199254740991}");
    }
}
