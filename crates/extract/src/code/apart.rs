//! What stands in the same line as a run of tokens.

use std::ops::Range;

use crate::property::is_alphanumeric;

/// How far the ends of a line are looked for. A code has fewer characters.
const NEAR: usize = 48;

/// The parts of a line before and after a range, as far as they are near.
pub(super) fn line_around<'t>(text: &'t str, range: &Range<usize>) -> Option<(&'t str, &'t str)> {
    let from = text.ceil_char_boundary(range.start.saturating_sub(NEAR));
    let until = text.floor_char_boundary((range.end + NEAR).min(text.len()));
    let before = text.get(from..range.start)?;
    let after = text.get(range.end..until)?;
    let before = match before.rsplit_once('\n') {
        Some((_, before)) => before,
        None if from == 0 => before,
        None => return None,
    };
    let after = match after.split_once('\n') {
        Some((after, _)) => after,
        None if until == text.len() => after,
        None => return None,
    };
    Some((before, after))
}

/// Whether a run has a line of its own, or follows a colon.
pub(super) fn is_set_apart(text: &str, range: &Range<usize>) -> bool {
    let is_sign = |c: char| !is_alphanumeric(c);
    let is_alone = |(before, after): (&str, &str)| before.chars().chain(after.chars()).all(is_sign);
    let before = text.get(..range.start).unwrap_or_default();
    before
        .trim_end_matches([' ', '"', '*', '\''])
        .ends_with(':')
        || line_around(text, range).is_some_and(is_alone)
}

/// The same, and nothing follows in its line.
pub(super) fn is_set_apart_whole(text: &str, range: &Range<usize>) -> bool {
    let after = text.get(range.end..).unwrap_or_default();
    let after = after.trim_start_matches([' ', '.', '"', '*', '\'']);
    is_set_apart(text, range) && (after.is_empty() || after.starts_with(['\n', '\t']))
}
