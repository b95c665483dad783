//! Encodings that URLs use for other URLs.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use url::Url;

/// The decoded value of a query parameter.
pub(super) fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

/// Percent escapes decoded once; `+` stays `+`.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let pair = format!("v={}", text.replace('+', "%2B").replace('&', "%26"));
    let (_, decoded) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
    Some(decoded.into_owned())
}

/// Letters that JSON escapes, such as `\u0068`, decoded once.
pub(super) fn json_decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\u") {
        let digits = after
            .get(..4)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        decoded.push_str(before);
        if let Some(letter) = code.and_then(char::from_u32) {
            decoded.push(letter);
            rest = after.get(4..).unwrap_or_default();
        } else {
            decoded.push_str("\\u");
            rest = after;
        }
    }
    decoded + rest
}

/// Base64 in either alphabet, padded or not.
pub(super) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = text.replace('-', "+").replace('_', "/");
    GeneralPurpose::new(&alphabet::STANDARD, config)
        .decode(standard.trim().as_bytes())
        .ok()
}

/// Base64 that holds UTF-8.
pub(super) fn base64_text(text: &str) -> Option<String> {
    String::from_utf8(base64_bytes(text)?).ok()
}
