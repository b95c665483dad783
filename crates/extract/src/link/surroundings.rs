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
    let tail = text
        .get(span.end..text.floor_char_boundary(span.end + REACH))
        .unwrap_or_default();
    let head = head.rsplit(['\n', '\t']).next().unwrap_or_default();
    let tail = tail.split(['\n', '\t']).next().unwrap_or_default();
    let tail = tail
        .split_inclusive(['.', '!', '?', '。'])
        .next()
        .unwrap_or_default();
    format!(
        "{} {}",
        last_sentence(head),
        if is_stop(tail) { "" } else { tail }
    )
}

fn is_stop(tail: &str) -> bool {
    tail.trim_start().starts_with(['.', '!', '?', '。'])
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
    let tail = text
        .get(span.end..text.floor_char_boundary(span.end + REACH))
        .unwrap_or_default();
    let line = tail.find(['\n', '\t']).unwrap_or(tail.len());
    let stop = tail.find(['.', '!', '?', '。']).unwrap_or(tail.len());
    let rest = tail.get(line.min(stop)..).unwrap_or_default();
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
