//! The text around a link that may say what it does.

use std::ops::Range;

/// How many bytes of text on each side can say something about a link.
pub(super) const REACH: usize = 240;

/// As much of the text before an offset as can say something about a link.
pub(super) fn text_before(text: &str, end: usize) -> &str {
    let start = text.ceil_char_boundary(end.saturating_sub(REACH));
    text.get(start..end).unwrap_or_default()
}

pub(super) fn sentence(text: &str, span: &Range<usize>) -> String {
    let head = text_before(text, span.start);
    let head = head.rsplit(['\n', '\t']).next().unwrap_or_default();
    let tail = if ends_sentence(text, span) {
        ""
    } else {
        let tail = text_after(text, span.end);
        let tail = tail.split(['\n', '\t']).next().unwrap_or_default();
        let mut sentences = tail.split_inclusive(['.', '!', '?', '。']);
        sentences.next().unwrap_or_default()
    };
    format!("{} {tail}", last_sentence(head))
}

/// As much of the text after an offset as can say something about a link.
fn text_after(text: &str, start: usize) -> &str {
    let end = text.floor_char_boundary(start + REACH);
    text.get(start..end).unwrap_or_default()
}

/// Whether a stop follows, or a new sentence: `https://a.com/v If you did not ask for this, …`.
/// The words of a link may be part of a sentence, but few sentences go on behind a URL with a
/// capital.
fn ends_sentence(text: &str, span: &Range<usize>) -> bool {
    let tail = text_after(text, span.end).trim_start();
    let is_url = text
        .get(span.clone())
        .is_some_and(|own| own.contains("://"));
    tail.starts_with(['.', '!', '?', '。']) || is_url && tail.starts_with(char::is_uppercase)
}

/// The last two lines up to the link.
pub(super) fn before(text: &str, span: &Range<usize>) -> String {
    let lines: Vec<&str> = text_before(text, span.start)
        .rsplit(['\n', '\t'])
        .filter(|line| !line.trim().is_empty())
        .take(2)
        .collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// What follows the sentence of the link, up to the end of the next line.
pub(super) fn after(text: &str, span: &Range<usize>) -> String {
    let tail = text_after(text, span.end);
    let end = if ends_sentence(text, span) {
        0
    } else {
        tail.find(['\n', '\t', '.', '!', '?', '。'])
            .unwrap_or(tail.len())
    };
    let rest = tail.get(end..).unwrap_or_default();
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lines = rest.split(['\n', '\t']);
    let lines: Vec<&str> = lines
        .filter(|line| !line.trim().is_empty())
        .take(2)
        .collect();
    lines.join("\n")
}

pub(super) fn last_sentence(text: &str) -> &str {
    let trimmed = text.trim_end_matches(['.', '!', '?', ' ']);
    let stop = trimmed
        .char_indices()
        .rev()
        .zip(trimmed.char_indices().rev().skip(1))
        .find_map(|((at, c), (_, before))| {
            (c.is_whitespace() && matches!(before, '.' | '!' | '?')).then_some(at)
        });
    let full = trimmed
        .rfind(['。', '！', '？', '।'])
        .map(|at| at + '。'.len_utf8());
    text.get(stop.max(full).unwrap_or(0)..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capital_behind_a_url_begins_a_sentence() {
        let sentence = |text: &str| {
            let at = text.find("https").unwrap();
            sentence(text, &(at..at + "https://a.com/v".len()))
        };
        let asked = "Go to https://a.com/v";
        assert_eq!(
            sentence(&format!("{asked} If it was not you, stop.")),
            "Go to  "
        );
        assert_eq!(
            sentence(&format!("{asked} to confirm.")),
            "Go to   to confirm."
        );
        let follows = format!("{asked} If it was not you, stop.");
        let at = follows.find("https").unwrap();
        let following = after(&follows, &(at..at + "https://a.com/v".len()));
        assert_eq!(following, "If it was not you, stop.");
    }

    #[test]
    fn text_after_the_sentence_of_a_link_ends_with_the_next_line() {
        let following = |text: &str| {
            let at = text.find("https").unwrap();
            after(text, &(at..at + "https://a.com/v".len()))
        };
        let text = "Go: https://a.com/v now. It was you?\nThen yes.\nBye";
        assert_eq!(following(text), "It was you?\nThen yes.");
        assert_eq!(
            following("https://a.com/v\n\nNot you?\nStop."),
            "Not you?\nStop."
        );
        assert_eq!(following("https://a.com/v"), "");
    }
}
