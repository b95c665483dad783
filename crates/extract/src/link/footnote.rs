//! Footnotes: a text speaks of `[1]`, and a line below begins with `[1]` and a URL.

use std::ops::Range;

use super::surroundings::text_before;

/// The most letters and digits of a mark.
const LONGEST: usize = 2;

/// Where the text speaks of the footnote that a URL begins, if it begins one.
pub(super) fn reference(text: &str, at: usize) -> Option<Range<usize>> {
    let line = text_before(text, at).rsplit('\n').next()?;
    let mark = mark(line.trim())?;
    let earlier = text.get(..at - line.len())?;
    let place = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| {
            let reference = format!("{open}{mark}{close}");
            Some((earlier.rfind(&reference)?, reference.len()))
        });
    place.map(|(start, length)| start..start + length)
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

/// The words before a reference, up to a sign that separates them from others.
pub(super) fn label<'t>(text: &'t str, place: &Range<usize>) -> &'t str {
    let before = text_before(text, place.start).trim_end();
    let signs = |c: char| "\n\t.!?,;:()[]|·。、，；".contains(c);
    before.rsplit(signs).next().unwrap_or_default().trim()
}
