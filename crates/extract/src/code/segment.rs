//! Lines and cells of a reading.

use std::ops::Range;

use memchr::memchr2_iter;

/// A line, or a cell of a row, that is not blank. Blanks around it are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) range: Range<usize>,
    /// Blank lines stand before it.
    pub(super) apart: bool,
}

/// Splits a text into its segments.
pub(super) fn segments(text: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut apart = true;
    for end in memchr2_iter(b'\n', b'\t', text.as_bytes()).chain([text.len()]) {
        let piece = text.get(at..end).unwrap_or_default();
        let indented = piece.trim_start();
        let body = indented.trim_end();
        if body.is_empty() {
            apart = true;
        } else {
            let start = at + (piece.len() - indented.len());
            found.push(Segment {
                range: start..start + body.len(),
                apart,
            });
            apart = false;
        }
        at = end + 1;
    }
    found
}

/// The segment a place belongs to.
pub(super) fn containing(segments: &[Segment], at: usize) -> Option<usize> {
    let index = segments.partition_point(|segment| segment.range.end <= at);
    segments
        .get(index)
        .filter(|segment| segment.range.contains(&at))
        .map(|_| index)
}
