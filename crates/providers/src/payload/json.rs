//! Strict JSON: exactly one object, and no key twice.

use std::cell::Cell;
use std::fmt;

use pipeline::Timestamp;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::DecodeError;

/// The most values in one body. A parsed value can take a hundred times the memory of
/// its text, so a body of many small values must be stopped.
const MOST_VALUES: usize = 100_000;

/// An object of a payload.
pub(crate) type Object = Map<String, Value>;

/// Reads a body that must be one JSON object.
///
/// Refused are: any other kind of value, a repeated key at any depth, bytes after the
/// object, text that is not UTF-8 or has half a surrogate pair, numbers that fit no
/// type, and nesting deeper than 128.
///
/// A UTF-8 byte order mark before the object is skipped: some senders write one.
pub(crate) fn object(body: &[u8]) -> Result<Object, DecodeError> {
    match value(body)? {
        Value::Object(object) => Ok(object),
        _ => Err(DecodeError::Malformed),
    }
}

/// Reads a body that must be a list of JSON objects, as strictly.
pub(crate) fn objects(body: &[u8]) -> Result<Vec<Object>, DecodeError> {
    let Value::Array(list) = value(body)? else {
        return Err(DecodeError::Malformed);
    };
    let objects = list.into_iter().map(|item| match item {
        Value::Object(object) => Ok(object),
        _ => Err(DecodeError::Malformed),
    });
    objects.collect()
}

fn value(body: &[u8]) -> Result<Value, DecodeError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.is_empty() {
        return Err(DecodeError::Empty);
    }
    let strict = Strict {
        left: &Cell::new(MOST_VALUES),
        flaw: &Cell::new(DecodeError::Malformed),
    };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = strict
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    value.map_err(|_text| strict.flaw.get())
}

/// The value at a path of keys.
pub(crate) fn at<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(object.get(*first)?, |value, key| value.get(*key))
}

/// The text at a path of keys.
pub(crate) fn text<'o>(object: &'o Object, path: &[&str]) -> Option<&'o str> {
    at(object, path)?.as_str()
}

/// The moment at a path of keys, if there is one.
pub(crate) fn moment_at(object: &Object, path: &[&str]) -> Option<Timestamp> {
    at(object, path).and_then(moment)
}

/// A moment as providers write it: RFC 3339 or close to it, or a number of seconds
/// since the epoch. A number that would be 3,000 years ahead counts milliseconds.
pub fn moment(value: &Value) -> Option<Timestamp> {
    const TOO_MANY_SECONDS: f64 = 1e11;
    if let Some(number) = value.as_f64() {
        let is_in_seconds = number.abs() < TOO_MANY_SECONDS;
        let millis = if is_in_seconds {
            number * 1000.0
        } else {
            number
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float saturates as an integer"
        )]
        return Some(Timestamp::from_millis(millis as i64));
    }
    let text = value.as_str()?.trim().replacen(' ', "T", 1);
    // Some providers write the offset as hours only, or leave it out.
    let forms = [text.clone(), format!("{text}:00"), format!("{text}Z")];
    forms.iter().find_map(|text| text.parse().ok())
}

/// The items of the list at a path of keys; empty if there is no list.
pub(crate) fn list<'o>(object: &'o Object, path: &[&str]) -> &'o [Value] {
    at(object, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The texts of a list at a path; every item must be one.
pub(crate) fn texts(object: &Object, path: &[&str]) -> Result<Vec<String>, DecodeError> {
    list(object, path)
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or(DecodeError::Malformed)
}

/// Builds a value. It keeps the reason for a failure, because a serde error only has
/// text.
#[derive(Clone, Copy)]
struct Strict<'a> {
    left: &'a Cell<usize>,
    flaw: &'a Cell<DecodeError>,
}

impl Strict<'_> {
    fn stop<E: Error>(self, flaw: DecodeError) -> E {
        self.flaw.set(flaw);
        E::custom(flaw)
    }

    fn count<E: Error>(self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(self.stop(DecodeError::TooManyFields)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.count()?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.stop(DecodeError::DuplicateKey));
            }
            let value = entries.next_value_seed(self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(body: &[u8]) -> DecodeError {
        object(body).expect_err("refused")
    }

    #[test]
    fn p1_p2_p11_p22_anything_but_one_object_is_malformed() {
        for bad in [
            &b"{"[..],
            b"nonsense",
            b"[]",
            b"\"text\"",
            b"1",
            b"null",
            b"{} {}",
            b"{}x",
            b"\xef\xbb\xbf\xef\xbb\xbf{}",
            b"{}\xef\xbb\xbf",
            b"{\"a\":\"\xff\"}",
            br#"{"a":"\ud800"}"#,
            br#"{"\udc00":1}"#,
            br#"{"a":1e400}"#,
        ] {
            assert_eq!(flaw(bad), DecodeError::Malformed, "{bad:?}");
        }
        assert_eq!(flaw(b""), DecodeError::Empty);
    }

    #[test]
    fn byte_order_mark_before_the_object_is_skipped() {
        assert_eq!(object(b"\xef\xbb\xbf{\"a\":1}"), object(b"{\"a\":1}"));
        assert_eq!(flaw(b"\xef\xbb\xbf"), DecodeError::Empty);
    }

    #[test]
    fn p4_repeated_key_is_refused_at_any_depth() {
        assert_eq!(flaw(br#"{"a":1,"a":1}"#), DecodeError::DuplicateKey);
        assert_eq!(
            flaw(br#"{"x":[{"inbox":"a","inbox":"b"}]}"#),
            DecodeError::DuplicateKey
        );
        assert_eq!(flaw(br#"{"a":1,"\u0061":2}"#), DecodeError::DuplicateKey);
    }

    #[test]
    fn p13_extreme_numbers_are_accepted() {
        for odd in ["-0", "9223372036854775808", "18446744073709551616", "1e308"] {
            assert!(object(format!("{{\"n\":{odd}}}").as_bytes()).is_ok());
        }
    }

    #[test]
    fn deep_nesting_and_many_values_are_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(flaw(deep.as_bytes()), DecodeError::Malformed);
        let many = format!("{{\"a\":[0{}]}}", ",0".repeat(MOST_VALUES));
        assert_eq!(flaw(many.as_bytes()), DecodeError::TooManyFields);
    }

    #[test]
    fn times_are_read_in_every_format_that_providers_use() {
        use serde_json::json;
        let at = |value: &Value| moment(value).map(Timestamp::as_millis);
        for value in [
            json!("2025-11-15T00:00:00.5Z"),
            json!("2025-11-15 00:00:00.5+00"),
            json!("2025-11-15T00:00:00.5+00:00"),
            json!("2025-11-15T00:00:00.5"),
            json!(1_763_164_800.5),
            json!(1_763_164_800_500_i64),
        ] {
            assert_eq!(at(&value), Some(1_763_164_800_500), "{value}");
        }
        for value in [json!("soon"), json!(null), json!([]), json!("")] {
            assert_eq!(at(&value), None, "{value}");
        }
        assert_eq!(at(&json!(1e308)), Some(i64::MAX));
    }
}
