//! Footnotes: a text speaks of `[1]`, and a line below begins with `[1]` and a URL.

use std::ops::Range;

use super::surroundings::text_before;

/// The most letters and digits of a mark.
const LONGEST: usize = 2;

/// Where the text speaks of the footnote that a URL begins, if it begins one.
pub(super) fn reference(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text_before(text, at);
    let line = before.rsplit('\n').next()?.trim();
    let start = at - before.len() + (before.len() - before.rsplit('\n').next()?.len());
    let mark = line.trim_end_matches([':', ' ', '.', '<']);
    let mark = mark.trim_start_matches(['[', '(']);
    let mark = mark.trim_end_matches([']', ')']);
    let is_mark = !mark.is_empty()
        && mark.len() <= LONGEST
        && (mark.bytes().all(|byte| byte.is_ascii_digit())
            || mark.len() == 1 && mark.bytes().all(|byte| byte.is_ascii_alphabetic()));
    if !is_mark || mark.len() == line.len() {
        return None;
    }
    let earlier = text.get(..start)?;
    [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| {
            let place = earlier.rfind(&format!("{open}{mark}{close}"))?;
            Some(place..place + mark.len() + 2)
        })
}

/// The words before a reference, up to a sign that separates them from others.
pub(super) fn label<'t>(text: &'t str, place: &Range<usize>) -> &'t str {
    let before = text_before(text, place.start).trim_end();
    let signs = |c: char| "\n\t.!?,;:()[]|·。、，；".contains(c);
    before.rsplit(signs).next().unwrap_or_default().trim()
}
