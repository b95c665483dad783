//! Texts in Base64 or in hexadecimal digits, such as `?r=aHR0cHM6Ly9ldmlsLmNvbS8`.

use std::string::FromUtf8Error;

use serde_json::Value;

use super::bare;
use crate::link::decode::base64_bytes;

/// A shorter piece holds no target: `//a.co` has eight letters.
const SHORTEST: usize = 8;
/// How deep the JSON of a token is searched.
const NESTED: usize = 3;

/// Hands over each text that a piece of a URL encodes, behind the name of its parameter if
/// that name takes a target.
pub(super) fn texts(text: &str, mut read: impl FnMut(&str)) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_');
    let mut at = 0;
    for piece in text.split_inclusive(|c| !is_part(c)) {
        let start = at;
        at += piece.len();
        let piece = piece.trim_end_matches(|c| !is_part(c));
        if piece.len() < SHORTEST {
            continue;
        }
        let Some(decoded) = decoded(piece) else {
            continue;
        };
        let (before, after) = (text.get(..start), text.get(start + piece.len()..));
        let before = before.unwrap_or_default();
        let is_signed = before.ends_with('.') || after.is_some_and(|after| after.starts_with('.'));
        match serde_json::from_str(&decoded) {
            // A signed token names who made it, as well.
            Ok(json @ Value::Object(_)) if is_signed => targets(&json, "", NESTED, &mut read),
            _ => read(&[bare::taker(before).unwrap_or_default(), &decoded].concat()),
        }
    }
}

/// Hands over the values of a token whose names take a target.
fn targets(json: &Value, name: &str, depth: usize, read: &mut impl FnMut(&str)) {
    match json {
        Value::String(text) => {
            let named = format!("{name}=");
            if bare::taker(&named).is_some() {
                read(&[&named, text.as_str()].concat());
            }
        }
        Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                targets(value, name, depth - 1, read);
            }
        }
        Value::Array(values) if depth > 0 => {
            for value in values {
                targets(value, name, depth - 1, read);
            }
        }
        _ => {}
    }
}

/// The text that a piece encodes. A random token encodes no text. Of other bytes, only those
/// count that have an address between them.
fn decoded(piece: &str) -> Option<String> {
    // One letter too many is a cut; the rest can still be read.
    let whole = piece.get(..piece.len() - usize::from(piece.len() % 4 == 1))?;
    let text = base64_bytes(whole).and_then(text_of);
    text.or_else(|| hexadecimal(piece).and_then(text_of))
}

fn text_of(bytes: Vec<u8>) -> Option<String> {
    let is_control = |c: char| c.is_control() && !c.is_whitespace();
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains(is_control) => Some(text),
        other => {
            let bytes = other.map_or_else(FromUtf8Error::into_bytes, String::into_bytes);
            memchr::memmem::find(&bytes, b"://")?;
            let text = String::from_utf8_lossy(&bytes);
            Some(text.replace(|c: char| is_control(c) || c == '\u{fffd}', "?"))
        }
    }
}

fn hexadecimal(piece: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| {
        let digit = char::from(*byte).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let pairs = piece.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let bytes = pairs.map(|pair| Some(16 * digit(pair.first()?)? + digit(pair.get(1)?)?));
    bytes.collect()
}
