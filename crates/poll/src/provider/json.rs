//! Reads fields of a JSON answer.

use serde_json::Value;

/// The longest id that is accepted.
const LONGEST_ID: usize = 1000;

/// The value at a path of keys.
pub(super) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The text at a path of keys, if it is not empty.
pub(super) fn text<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path)?.as_str().filter(|text| !text.is_empty())
}

/// The items of the list at a path of keys; `None` if there is no list.
pub(super) fn list<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Vec<Value>> {
    at(value, path)?.as_array()
}

/// An id: text, or a number written as text.
pub(super) fn id(value: &Value, path: &[&str]) -> Option<String> {
    let id = match at(value, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (1..=LONGEST_ID).contains(&id.len()).then_some(id)
}

/// Addresses: a list of texts, or one text separated by commas.
pub(super) fn addresses(value: &Value, path: &[&str]) -> Vec<String> {
    match at(value, path) {
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(|one| one.as_str().map(bare))
            .collect(),
        Some(Value::String(text)) => text.split(',').map(bare).collect(),
        _ => Vec::new(),
    }
}

/// The address in `Name <address>`.
fn bare(text: &str) -> String {
    let inner = text.rsplit_once('<').map_or(text, |(_, rest)| rest);
    inner.trim_end().trim_end_matches('>').trim().to_owned()
}
