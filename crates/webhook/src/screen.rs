//! What the headers must say before a byte of the body is read.

use actix_web::http::header::{self, HeaderMap};

/// A content type is never longer than this.
const MOST_BYTES: usize = 256;

/// The headers rule the post out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenError {
    /// The body is compressed; what was signed is unknown, and what it expands
    /// to is unbounded.
    Encoded,
    /// There is no usable content type, or its text is not in UTF-8.
    MediaType,
    /// The promised body is longer than the limit.
    TooLarge,
}

/// Checks the headers and returns the content type.
pub(crate) fn screen(headers: &HeaderMap, limit: usize) -> Result<String, ScreenError> {
    check_encoding(headers)?;
    let content_type = content_type(headers).ok_or(ScreenError::MediaType)?;
    check_length(headers, limit)?;
    Ok(content_type)
}

fn check_encoding(headers: &HeaderMap) -> Result<(), ScreenError> {
    let plain = headers
        .get_all(header::CONTENT_ENCODING)
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    if plain {
        Ok(())
    } else {
        Err(ScreenError::Encoded)
    }
}

/// The one content type, if it is well formed: of two, whoever decodes the body
/// later could believe the wrong one.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(header::CONTENT_TYPE);
    let text = values.next()?.to_str().ok()?.trim();
    if values.next().is_some() || text.len() > MOST_BYTES {
        return None;
    }
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let (kind, subtype) = essence.trim_end().split_once('/')?;
    let readable = is_token(kind) && is_token(subtype);
    let in_utf8 = !is_json(subtype) || charsets(parameters).all(is_utf8);
    // What was found by polling has a form of its own, which nobody may post.
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

/// A promised length is checked early, so that a body that cannot be taken is
/// not sent. What comes without a promise is counted as it comes.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), ScreenError> {
    let promised = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok());
    match promised {
        Some(length) if usize::try_from(length).map_or(true, |length| length > limit) => {
            Err(ScreenError::TooLarge)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn with(lines: &[(&'static str, &str)]) -> Result<String, ScreenError> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).expect("a header"),
            );
        }
        screen(&headers, 100)
    }

    #[test]
    fn json_and_other_types_pass_as_they_were_written() {
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
    fn h7_h8_no_type_or_an_unreadable_one_is_refused() {
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
                Err(ScreenError::MediaType),
                "{bad:?}"
            );
        }
        assert_eq!(with(&[]), Err(ScreenError::MediaType));
        let twice = [
            ("content-type", "application/json"),
            ("content-type", "text/plain"),
        ];
        assert_eq!(with(&twice), Err(ScreenError::MediaType));
    }

    #[test]
    fn h10_any_encoding_but_identity_is_refused() {
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
                Err(ScreenError::Encoded),
                "{bad:?}"
            );
        }
        assert!(with(&[json, ("content-encoding", "Identity")]).is_ok());
        let twice = [
            json,
            ("content-encoding", "identity"),
            ("content-encoding", "gzip"),
        ];
        assert_eq!(with(&twice), Err(ScreenError::Encoded));
    }

    #[test]
    fn a_promised_length_above_the_limit_is_refused() {
        let json = ("content-type", "application/json");
        assert!(with(&[json, ("content-length", "100")]).is_ok());
        for bad in ["101", "18446744073709551615"] {
            assert_eq!(
                with(&[json, ("content-length", bad)]),
                Err(ScreenError::TooLarge)
            );
        }
    }
}
