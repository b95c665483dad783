//! Text and JSON as HTML, and the style of the pages.

use std::fmt::Write;

use serde_json::Value;

/// The style of both pages. Long words break, so that a phone shows whole lines.
pub(super) const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;\
margin:0 auto;padding:1rem;overflow-wrap:anywhere}code,pre{font:14px/1.5 ui-monospace,monospace}\
h1{line-height:1.2}h2{margin-top:2.5rem;border-top:1px solid #8888;padding-top:1rem}\
h3{margin:2rem 0 .3rem}pre{white-space:pre-wrap;background:#8882;padding:.8rem;\
border-radius:.3rem}details{border-bottom:1px solid #8884;padding:.5rem 0}summary{cursor:pointer;\
padding:.3rem 0}dl{margin:.5rem 0}dt{margin-top:.5rem}dd{margin:0 0 0 1.2rem}nav a{display:\
inline-block;padding:.3rem .6rem .3rem 0}@media(prefers-color-scheme:dark){body{background:#111;\
color:#ddd}a{color:#9cf}}";

/// The value at a JSON pointer, or null.
pub(super) fn at<'v>(value: &'v Value, place: &str) -> &'v Value {
    value.pointer(place).unwrap_or(&Value::Null)
}

/// The members of an object, or none.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The elements of a list, or none.
pub(super) fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text of the document, with `code` as code.
pub(super) fn prose(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let mut html = String::with_capacity(text.len());
    for (place, part) in text.split('`').enumerate() {
        let part = escape(part);
        let _ = match place % 2 {
            0 => write!(html, "{part}"),
            _ => write!(html, "<code>{part}</code>"),
        };
    }
    html
}

/// Escapes HTML markup and non-ASCII characters as numeric references.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() && !matches!(letter, '&' | '<' | '>' | '"') {
            escaped.push(letter);
        } else {
            let _ = write!(escaped, "&#{};", u32::from(letter));
        }
    }
    escaped
}
