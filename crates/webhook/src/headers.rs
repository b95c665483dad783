//! Checks the headers before any byte of the body is read.

use actix_web::http::header::{self, HeaderMap};

/// The longest content type that is accepted.
const LONGEST_CONTENT_TYPE: usize = 256;

/// The headers are not acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    /// The body is compressed. It is unknown which bytes were signed, and the
    /// decompressed size is unbounded.
    Encoded,
    /// The content type is missing or malformed, or names a charset other than UTF-8.
    MediaType,
    /// `Content-Length` is above the limit.
    TooLarge,
}

/// Checks the headers and returns the content type.
pub(crate) fn check(headers: &HeaderMap, limit: usize) -> Result<String, HeaderError> {
    check_encoding(headers)?;
    let content_type = content_type(headers).ok_or(HeaderError::MediaType)?;
    check_length(headers, limit)?;
    Ok(content_type)
}

fn check_encoding(headers: &HeaderMap) -> Result<(), HeaderError> {
    let plain = headers
        .get_all(header::CONTENT_ENCODING)
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    if plain {
        Ok(())
    } else {
        Err(HeaderError::Encoded)
    }
}

/// The content type, if there is exactly one and it is well formed. With two, the
/// decoder could use another one than the sender meant.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::CONTENT_TYPE);
    let text = values.next()?.to_str().ok()?.trim();
    if values.next().is_some() || text.len() > LONGEST_CONTENT_TYPE {
        return None;
    }
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let (kind, subtype) = essence.trim_end().split_once('/')?;
    let readable = is_token(kind) && is_token(subtype);
    let in_utf8 = !is_json(subtype) || charsets(parameters).all(is_utf8);
    // Polled mail is stored under a content type of our own, which nobody may post.
    let is_ours = essence.trim_end().eq_ignore_ascii_case(providers::POLLED);
    (readable && in_utf8 && !is_ours).then(|| text.to_owned())
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn is_json(subtype: &str) -> bool {
    let subtype = subtype.to_ascii_lowercase();
    subtype == "json" || subtype.ends_with("+json")
}

fn charsets(parameters: &str) -> impl Iterator<Item = &str> {
    parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"'))
}

fn is_utf8(charset: &str) -> bool {
    ["utf-8", "utf8", "us-ascii"]
        .iter()
        .any(|known| charset.eq_ignore_ascii_case(known))
}

/// Refuses a body above the limit before it is sent. A chunked body is counted as it
/// arrives.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), HeaderError> {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok());
    match declared {
        Some(length) if usize::try_from(length).map_or(true, |length| length > limit) => {
            Err(HeaderError::TooLarge)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn with(lines: &[(&'static str, &str)]) -> Result<String, HeaderError> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).expect("a header"),
            );
        }
        check(&headers, 100)
    }

    #[test]
    fn valid_content_types_are_returned_unchanged() {
        for good in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;charset=\"UTF-8\"",
            "text/plain; charset=iso-8859-1",
            "multipart/form-data; boundary=x",
        ] {
            assert_eq!(with(&[("content-type", good)]).as_deref(), Ok(good));
        }
    }

    #[test]
    fn h7_h8_missing_or_malformed_content_type_is_refused() {
        for bad in [
            "",
            "json",
            "application/",
            "/json",
            "application/vnd.maillatch.polled",
            "Application/vnd.maillatch.POLLED ; x=y",
            "application/ json",
            "application/json; charset=utf-16",
            "application/problem+json; charset=latin1",
            "application/json; charset=utf-8; charset=utf-16",
        ] {
            assert_eq!(
                with(&[("content-type", bad)]),
                Err(HeaderError::MediaType),
                "{bad:?}"
            );
        }
        assert_eq!(with(&[]), Err(HeaderError::MediaType));
        let twice = [
            ("content-type", "application/json"),
            ("content-type", "text/plain"),
        ];
        assert_eq!(with(&twice), Err(HeaderError::MediaType));
    }

    #[test]
    fn h10_content_encoding_other_than_identity_is_refused() {
        let json = ("content-type", "application/json");
        for bad in [
            "gzip",
            "br",
            "zstd",
            "compress",
            "gzip, gzip",
            "identity, gzip",
            "",
        ] {
            assert_eq!(
                with(&[json, ("content-encoding", bad)]),
                Err(HeaderError::Encoded),
                "{bad:?}"
            );
        }
        assert!(with(&[json, ("content-encoding", "Identity")]).is_ok());
        let twice = [
            json,
            ("content-encoding", "identity"),
            ("content-encoding", "gzip"),
        ];
        assert_eq!(with(&twice), Err(HeaderError::Encoded));
    }

    #[test]
    fn content_length_above_the_limit_is_refused() {
        let json = ("content-type", "application/json");
        assert!(with(&[json, ("content-length", "100")]).is_ok());
        for bad in ["101", "18446744073709551615"] {
            assert_eq!(
                with(&[json, ("content-length", bad)]),
                Err(HeaderError::TooLarge)
            );
        }
    }
}
