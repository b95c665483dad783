//! Whether a text has a link with a token. A mail with such a link often has no code.

use memchr::memmem;

use crate::reading::Reading;
use crate::steps::Steps;

/// How many links of a text are looked at.
const MOST: usize = 40;
/// A shorter part of a URL is rather a word or a number.
const SHORTEST: usize = 12;
/// How many bytes of a link are looked at.
const LONGEST: usize = 400;
/// Steps charged for a byte of the text, and for a link.
const PER_BYTE: usize = 1;
const PER_LINK: usize = 800;

/// Whether a link in the text has a token.
pub(super) fn has_token_link(reading: &Reading, steps: &Steps<'_>) -> bool {
    let anchors = reading.anchors.iter().map(|anchor| anchor.href.as_str());
    let text = reading.examined();
    steps.charge(PER_BYTE * text.len() + 2 * MOST * PER_LINK);
    let written = memmem::find_iter(text.as_bytes(), "://").map(|at| {
        let until = text.floor_char_boundary(at + LONGEST);
        let rest = text.get(at..until).unwrap_or_default();
        rest.split([' ', '\n', '\t']).next().unwrap_or_default()
    });
    let mut links = anchors.take(MOST).chain(written.take(MOST));
    links.any(|link| {
        let link = link
            .get(..link.floor_char_boundary(LONGEST))
            .unwrap_or_default();
        let mut parts = link.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(is_token)
    })
}

/// Whether letters and digits are mixed, or letters of either case.
fn is_token(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
    let kinds = [
        has(u8::is_ascii_digit),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_lowercase),
    ];
    part.len() >= SHORTEST && kinds.iter().filter(|has| **has).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str) -> bool {
        let steps = Steps::for_size(0);
        has_token_link(&Reading::of_text(text, 1_000, &steps), &steps)
    }

    #[test]
    fn link_with_mixed_letters_and_digits_has_a_token() {
        assert!(is_found(
            "Go to https://a.example.com/in/4c1d9e77ab02ff now"
        ));
        assert!(is_found("Go to https://a.example.com/?t=QxWzRtBnMkLpasdf"));
    }

    #[test]
    fn words_and_text_outside_of_links_are_no_token() {
        assert!(!is_found(
            "Go to https://a.example.com/newsletters/september"
        ));
        assert!(!is_found(
            "See http://a.example.com and type 4c1d9e77ab02ff"
        ));
    }
}
