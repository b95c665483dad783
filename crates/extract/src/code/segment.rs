//! Lines and cells of a reading.

use std::ops::Range;

use memchr::memchr2_iter;

use crate::property::is_alphanumeric;

/// A line, or a cell of a table row, that is not blank, without surrounding spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) range: Range<usize>,
    /// From its first to its last letter or digit; empty if it has none.
    pub(super) core: Range<usize>,
}

/// Splits a text into its segments.
pub(super) fn segments(text: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut at = 0;
    for end in memchr2_iter(b'\n', b'\t', text.as_bytes()).chain([text.len()]) {
        let piece = text.get(at..end).unwrap_or_default();
        let indented = piece.trim_start();
        let body = indented.trim_end();
        if !body.is_empty() {
            let start = at + (piece.len() - indented.len());
            let first = body.find(is_alphanumeric).unwrap_or(body.len());
            let core = body.trim_end_matches(|c: char| !is_alphanumeric(c));
            found.push(Segment {
                range: start..start + body.len(),
                core: start + first..start + core.len().max(first),
            });
        }
        at = end + 1;
    }
    found
}

/// The heading of the cell at `at`: the cell above it, if the row above holds
/// headings. That row has as many cells as this one and no digit, and the first
/// cell of this row has a digit.
pub(super) fn heading(text: &str, at: usize) -> Option<Range<usize>> {
    const REACH: usize = 480;
    let from = text.ceil_char_boundary(at.saturating_sub(REACH));
    let before = text.get(from..at)?;
    let row_at = from + before.rfind('\n')? + 1;
    let above_end = row_at - 1;
    let above_at = text
        .get(from..above_end)?
        .rfind('\n')
        .map_or(from, |end| from + end + 1);
    // A longer row is no row of a table with headings.
    let row_end = text.floor_char_boundary(at + REACH);
    let row = text.get(row_at..row_end)?.lines().next()?;
    let above = text.get(above_at..above_end)?;
    let has_digit = |cell: &str| cell.bytes().any(|byte| byte.is_ascii_digit());
    let cells = row.split('\t').count();
    let is_heading = cells > 1
        && above.split('\t').count() == cells
        && !has_digit(above)
        && row.split('\t').next().is_some_and(has_digit);
    let column = text.get(row_at..at)?.matches('\t').count();
    let start = above.split('\t').take(column).map(|cell| cell.len() + 1);
    let start = above_at + start.sum::<usize>();
    let length = above.split('\t').nth(column)?.len();
    is_heading.then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_is_the_cell_above_the_value() {
        let text = "Account\tSecurity code\n10048213\t604871\n";
        let heading_of = |value: &str| {
            let heading = heading(text, text.find(value).unwrap())?;
            text.get(heading)
        };
        assert_eq!(heading_of("604871"), Some("Security code"));
        assert_eq!(heading_of("10048213"), Some("Account"));
    }

    #[test]
    fn row_of_label_and_value_has_no_heading() {
        let text = "Time\tnoon\nSecurity code\t604871\n";
        assert_eq!(heading(text, text.find("604871").unwrap()), None);
    }
}
