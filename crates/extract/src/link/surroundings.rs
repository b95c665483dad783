//! The text around a link that may say what it does.

use std::ops::Range;

/// How many bytes of text on each side can say something about a link.
pub(super) const REACH: usize = 240;
/// A longer text before a bracket, or above a URL, is a sentence and no label. In characters.
const LONGEST: usize = 40;

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

/// What names a URL in plain text: `Confirm: URL`, `Confirm (URL)`, or a short line above a URL
/// that begins a line, if it ends with a colon or the URL is in brackets. Empty if nothing does.
pub(super) fn label_before<'a>(text: &'a str, span: &Range<usize>) -> &'a str {
    let before = text_before(text, span.start);
    let outside = before.trim_end_matches(['<', '(', '[']);
    let is_bracketed = outside.len() < before.len();
    let (line, is_own) = last_line(outside);
    let line = line.trim();
    let is_short = |label: &&str| label.chars().count() <= LONGEST && !label.contains("://");
    if let Some(label) = line.strip_suffix(':').map(last_sentence) {
        return if is_own || is_short(&label) {
            label
        } else {
            ""
        };
    }
    let label = last_sentence(line).rsplit(['|', '·']).next();
    label
        .filter(|label| is_bracketed && is_short(label))
        .map_or("", str::trim)
}

/// The short line directly above a URL that begins a line, if it is no sentence. It may say what
/// must not be followed.
pub(super) fn line_above<'a>(text: &'a str, span: &Range<usize>) -> &'a str {
    let before = text_before(text, span.start).trim_end_matches(['<', '(', '[', ' ']);
    let above = before.strip_suffix('\n').unwrap_or_default();
    let line = above.rsplit('\n').next().unwrap_or_default().trim();
    let is_label = line.chars().count() <= LONGEST && !line.ends_with(['.', ',', ';']);
    if is_label { line } else { "" }
}

/// The last line or table cell of a text, and `true`. If it says nothing, the one before, and
/// `false`: the cell of the same row, or the line above, if that is no row of cells.
fn last_line(text: &str) -> (&str, bool) {
    let start = text.rfind(['\n', '\t']).map_or(0, |at| at + 1);
    let (before, last) = text.split_at(start);
    if last.contains(char::is_alphanumeric) {
        return (last, true);
    }
    if let Some(row) = before.strip_suffix('\t') {
        let cell = row.rsplit(['\n', '\t']).next();
        return (cell.unwrap_or_default(), false);
    }
    let above = before.strip_suffix('\n').unwrap_or_default();
    let line = above.rsplit('\n').next().unwrap_or_default();
    (if line.contains('\t') { "" } else { line }, false)
}

fn last_sentence(text: &str) -> &str {
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
    fn short_line_or_cell_before_a_url_names_it() {
        let label = |text: &'static str, at: usize| label_before(text, &(at..at));
        let table = "Delete account:\tConfirm:\n";
        assert_eq!(label(table, table.len()), "");
        assert_eq!(label("Confirm:\t", 9), "Confirm");
        assert_eq!(label("Hello\nConfirm:\n", 15), "Confirm");
        assert_eq!(label("Confirm (", 9), "Confirm");
        assert_eq!(label("Hello Ana\n", 10), "");
        let sentence = "If you cannot sign in with the button, open the following link:\n";
        assert_eq!(label(sentence, sentence.len()), "");
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
