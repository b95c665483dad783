//! URLs that a line break cuts in two.

/// Whether a line goes on with the rest of the URL that ends the line before it. Then
/// nobody can tell where the URL ends, so it must not be handed out.
pub(crate) fn continues(url: &str, next_line: &str) -> bool {
    let rest = next_line.split([' ', '\t']).next().unwrap_or_default();
    let rest = rest.trim_end_matches(['\r', '.', ',', ';', ':', '!', '?', '>', ')']);
    let is_url_text = !rest.is_empty()
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%&=?/#+:;@!$*'(),".contains(&byte));
    if !is_url_text || rest.contains("://") {
        return false;
    }
    let has = |is: fn(&u8) -> bool| rest.as_bytes().iter().any(is);
    let is_open = url.ends_with(['=', '&', '?', '%', '-', '_', '+']);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let has_signs = rest.contains(['=', '&', '%', '_', '?']);
    let is_alone = rest.len() == next_line.trim_end().len();
    is_open
        || has_signs
        || is_mixed && rest.len() >= 6
        || is_alone && rest.len() >= 16
        || is_alone && rest.contains('/')
}

#[cfg(test)]
mod tests {
    use super::continues;

    #[test]
    fn line_with_the_rest_of_a_url_continues_it() {
        let url = "https://a.example/verify?token=Zk3v9QmB7t";
        for rest in [
            "Y1abcd",
            "Y1abcd to confirm",
            "&next=home",
            "aaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert!(continues(url, rest), "{rest}");
        }
        assert!(continues("https://a.example/verify?token=", "abcdef"));
    }

    #[test]
    fn line_with_words_continues_no_url() {
        let url = "https://a.example/verify?token=Zk3v9QmB7t";
        for line in [
            "",
            "Thanks",
            "to confirm your address",
            "2. Sign in",
            "482913 is your code",
            "Questions?",
            "Questions? Write to us.",
        ] {
            assert!(!continues(url, line), "{line}");
        }
    }
}
