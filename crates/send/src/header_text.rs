//! What may stand in a header.

/// Whether a text is one line without control characters, so that it cannot end a header
/// and begin another one.
pub(crate) fn is_one_line(text: &str) -> bool {
    !text
        .chars()
        .any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_control_characters_do_not_fit_into_a_header() {
        assert!(is_one_line("Grüße, 4821?"));
        for bad in [
            "a\r\nb",
            "a\nb",
            "a\rb",
            "a\0b",
            "a\u{85}b",
            "a\u{2028}b",
            "a\u{7f}",
        ] {
            assert!(!is_one_line(bad), "{bad:?}");
        }
    }
}
