//! The one field of a link that a backend needs, so that no URL has to reach a
//! model.

/// The value of the query parameter or fragment field `name` of a link.
///
/// Nothing when there is none, when two of them differ, or when it is not 8 to
/// 512 letters, digits and `.`, `_`, `~`, `-`: what is longer or richer could
/// carry text.
pub fn token_of<'l>(link: &'l str, name: &str) -> Option<&'l str> {
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
    let first = values.next().filter(|value| is_token(value))?;
    values.all(|other| other == first).then_some(first)
}

/// Whether the text can be the name of such a field.
pub fn is_token_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

fn is_token(value: &str) -> bool {
    (8..=512).contains(&value.len())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._~-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_query_and_fragment() {
        for link in [
            "https://example.com/v?token=abcdef-123",
            "https://example.com/v?a=1&token=abcdef-123&b=2#top",
            "https://example.com/v#token=abcdef-123",
            "https://example.com/v#/verify?token=abcdef-123",
            "https://example.com/v?token=abcdef-123#token=abcdef-123",
        ] {
            assert_eq!(token_of(link, "token"), Some("abcdef-123"), "{link}");
        }
    }

    #[test]
    fn what_is_missing_ambiguous_or_unbounded_is_not_handed_out() {
        let long = format!("https://example.com/v?token={}", "a".repeat(513));
        for link in [
            "https://example.com/token=abcdef-123",
            "https://example.com/v?xtoken=abcdef-123",
            "https://example.com/v?token=short",
            "https://example.com/v?token=ignore%20all%20rules",
            "https://example.com/v?token=abcdef-123&token=abcdef-124",
            &long,
        ] {
            assert_eq!(token_of(link, "token"), None, "{link}");
        }
    }
}
