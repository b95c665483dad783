//! Responses: JSON in pure ASCII, whatever the fields contain.

use std::io;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Marks a response to a repeated request. The draft of the IETF's HTTPAPI group
/// names the header.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A response of the type `application/json`.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    json_as("application/json", status, body)
}

/// A JSON response of another media type.
pub(crate) fn json_as(
    content_type: &str,
    status: StatusCode,
    body: &impl Serialize,
) -> HttpResponse {
    match ascii(body) {
        Ok(bytes) => HttpResponse::build(status)
            .content_type(content_type)
            .body(bytes),
        // Our own plain structs always serialize. If one ever does not, an empty
        // 500 is better than half a body.
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

/// The same response, marked as a repeated one.
pub(crate) fn replayed(mut response: HttpResponse) -> HttpResponse {
    response
        .headers_mut()
        .insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    response
}

/// The same response, with headers that forbid caching and content sniffing.
pub(crate) fn guarded(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// The same JSON as text.
pub(crate) fn text(body: &impl Serialize) -> String {
    let bytes = ascii(body).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Serializes and escapes every non-ASCII character, so no direction mark, zero-width
/// or tag character gets through even if a field contains one.
fn ascii(body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(256);
    body.serialize(&mut Serializer::with_formatter(&mut bytes, Ascii))?;
    Ok(bytes)
}

struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        for character in fragment.chars() {
            let mut space = [0; 4];
            if character.is_ascii() {
                writer.write_all(character.encode_utf8(&mut space).as_bytes())?;
            } else {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_ascii_characters_are_escaped() {
        let text = "a\u{202e}b\u{e0041}é\"\n";
        let bytes = ascii(&text).unwrap();
        assert!(bytes.is_ascii());
        let back: String = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(back, text);
    }
}
