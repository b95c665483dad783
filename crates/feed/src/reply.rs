//! JSON that holds nothing but ASCII, whatever it is given.

use std::io;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Says that the same request was answered before; the name is that of the draft of
/// the IETF's HTTPAPI group.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A JSON answer of the given type.
pub(crate) fn json(status: StatusCode, content_type: &str, body: &impl Serialize) -> HttpResponse {
    match ascii(body) {
        Ok(bytes) => HttpResponse::build(status)
            .content_type(content_type)
            .body(bytes),
        // Our own plain structs always serialize; if one ever does not, saying
        // nothing is better than half an answer.
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

/// The same answer, marked as one that was given before.
pub(crate) fn replayed(mut answer: HttpResponse) -> HttpResponse {
    answer
        .headers_mut()
        .insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    answer
}

/// The same answer, which no cache may keep and no browser may take for another
/// type.
pub(crate) fn guarded(mut answer: HttpResponse) -> HttpResponse {
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    answer
}

/// The same JSON as text.
pub(crate) fn text(body: &impl Serialize) -> String {
    let bytes = ascii(body).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Serializes with every other character escaped: direction marks, zero-width
/// and tag characters cannot ride along even if a field should let them in.
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
    fn what_is_not_ascii_is_escaped_and_reads_back_the_same() {
        let text = "a\u{202e}b\u{e0041}é\"\n";
        let bytes = ascii(&text).unwrap();
        assert!(bytes.is_ascii());
        let back: String = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(back, text);
    }
}
