//! The token of a link: one query parameter or fragment field. A backend often needs only
//! that, so an agent can get it without its language model seeing the URL.

use std::borrow::Cow;

/// Why a link has no usable token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The link has no such field.
    #[error("token_missing")]
    Missing,
    /// The link has two such fields with different values.
    #[error("token_ambiguous")]
    Ambiguous,
    /// The value of the field could carry free text.
    #[error("token_unfit")]
    Unfit,
}

impl TokenError {
    /// The reason as a slug.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "token_missing",
            Self::Ambiguous => "token_ambiguous",
            Self::Unfit => "token_unfit",
        }
    }
}

/// The value of the query parameter or fragment field `name` of a link, percent-decoded
/// as the link's server would decode it.
///
/// The value must be 8 to 512 letters, digits and `.`, `_`, `~`, `-`, `+`, `/`, `=`. A
/// longer value, or one with other characters, could carry free text.
pub fn token_of<'l>(link: &'l str, name: &str) -> Result<Cow<'l, str>, TokenError> {
    let (before, fragment) = link.split_once('#').unwrap_or((link, ""));
    let (_, query) = before.split_once('?').unwrap_or((before, ""));
    // A fragment may be a route with a query of its own: `#/verify?token=…`.
    let (_, after_route) = fragment.split_once('?').unwrap_or(("", fragment));
    let mut values = [query, after_route]
        .into_iter()
        .flat_map(|fields| fields.split('&'))
        .filter_map(|field| field.split_once('='))
        .filter(|(field, _)| *field == name)
        .map(|(_, value)| value);
    let first = values.next().ok_or(TokenError::Missing)?;
    if !values.all(|other| other == first) {
        return Err(TokenError::Ambiguous);
    }
    let token = resolved(first).ok_or(TokenError::Unfit)?;
    is_token(&token).then_some(token).ok_or(TokenError::Unfit)
}

/// Whether an attempt may ask for a field of this name.
pub fn is_token_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// The percent-decoded value. `None` for a plus: in a query it means a space, but some
/// senders write it for a literal plus.
fn resolved(value: &str) -> Option<Cow<'_, str>> {
    if value.contains('+') {
        return None;
    }
    if !value.contains('%') {
        return Some(Cow::Borrowed(value));
    }
    let mut parts = value.split('%');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        text.push(char::from(byte));
        text.push_str(rest);
    }
    Some(Cow::Owned(text))
}

fn is_token(value: &str) -> bool {
    (8..=512).contains(&value.len())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._~-+/=".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_found_in_query_and_fragment() {
        for link in [
            "https://example.com/v?token=abcdef-123",
            "https://example.com/v?a=1&token=abcdef-123&b=2#top",
            "https://example.com/v#token=abcdef-123",
            "https://example.com/v#/verify?token=abcdef-123",
            "https://example.com/v?token=abcdef-123#token=abcdef-123",
            "https://example.com/v?token=abcdef%2D123",
        ] {
            assert_eq!(
                token_of(link, "token").as_deref(),
                Ok("abcdef-123"),
                "{link}"
            );
        }
    }

    #[test]
    fn percent_encoded_base64_is_decoded() {
        for (field, token) in [
            ("Q2ZESjhQ%2B%2fx%3D%3D", "Q2ZESjhQ+/x=="),
            ("Q2ZESjhQ/x==", "Q2ZESjhQ/x=="),
        ] {
            let link = format!("https://example.com/v?token={field}");
            assert_eq!(token_of(&link, "token").as_deref(), Ok(token), "{link}");
        }
    }

    #[test]
    fn missing_ambiguous_or_unfit_field_is_an_error() {
        let long = format!("https://example.com/v?token={}", "a".repeat(513));
        let unfit = TokenError::Unfit;
        for (link, why) in [
            ("https://example.com/token=abcdef-123", TokenError::Missing),
            (
                "https://example.com/v?xtoken=abcdef-123",
                TokenError::Missing,
            ),
            ("https://example.com/v?token=short", unfit),
            ("https://example.com/v?token=ignore%20all%20rules", unfit),
            ("https://example.com/v?token=ignore+all+rules", unfit),
            ("https://example.com/v?token=ab%C3%A9cdefghi", unfit),
            ("https://example.com/v?token=abcdefgh%2", unfit),
            ("https://example.com/v?token=abcdefgh%+1", unfit),
            (
                "https://example.com/v?token=abcdef-123&token=abcdef-124",
                TokenError::Ambiguous,
            ),
            (&long, unfit),
        ] {
            assert_eq!(token_of(link, "token"), Err(why), "{link}");
        }
    }
}
