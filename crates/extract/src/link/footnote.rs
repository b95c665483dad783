//! Footnotes: the text refers to `[1]`, and a later line is `[1]` and a URL.

use std::ops::Range;

use super::surroundings::{REACH, text_before};
use crate::steps::Steps;

/// The longest mark, in letters or digits.
const LONGEST: usize = 2;
/// How far before its footnote a reference may stand, in bytes.
const FARTHEST: usize = 8_000;

/// Where the text refers to the footnote that the URL at `at` belongs to. Nothing if it belongs
/// to none.
pub(super) fn reference(text: &str, at: usize, steps: &Steps<'_>) -> Option<Range<usize>> {
    let line = text_before(text, at).rsplit('\n').next()?;
    let mark = mark(line.trim())?;
    let end = at - line.len();
    let from = text.ceil_char_boundary(end.saturating_sub(FARTHEST));
    let earlier = text.get(from..end)?;
    steps.charge(2 * earlier.len());
    let found = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| {
            let reference = format!("{open}{mark}{close}");
            Some((earlier.rfind(&reference)?, reference.len()))
        });
    let (start, length) = found?;
    let behind = earlier.get(start + length..)?;
    let is_footnote = behind
        .trim_start_matches([':', ' ', '<'])
        .starts_with("http");
    (!is_footnote).then(|| from + start..from + start + length)
}

/// The mark of a footnote: `[1]`, `(a)`, `1.`, `[12]:`.
fn mark(line: &str) -> Option<&str> {
    let mark = line.trim_end_matches([':', ' ', '.', '<']);
    let mark = mark
        .trim_start_matches(['[', '('])
        .trim_end_matches([']', ')']);
    let is_number = mark.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = mark.len() == 1 && mark.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_mark = (1..=LONGEST).contains(&mark.len()) && (is_number || is_letter);
    (is_mark && mark.len() < line.len()).then_some(mark)
}

/// The words before a reference, up to a sign that separates them from others. A reference that
/// begins its line names what follows it there.
pub(super) fn label<'t>(text: &'t str, place: &Range<usize>) -> &'t str {
    let is_end = |c: char| "\n\t.!?,;:()[]|·。、".contains(c);
    let before = text_before(text, place.start).trim_end_matches(' ');
    let words = before.rsplit(is_end).next().unwrap_or_default().trim();
    if words.contains(char::is_alphanumeric) {
        return words;
    }
    let behind = text.get(place.end..text.floor_char_boundary(place.end + REACH));
    let behind = behind
        .unwrap_or_default()
        .trim_start_matches([' ', ':', '.', '-']);
    behind.split(is_end).next().unwrap_or_default().trim()
}
