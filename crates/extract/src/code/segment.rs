//! Lines and cells of a reading.

use std::ops::Range;

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
    for piece in text.split_inclusive(['\n', '\t']) {
        let body = piece.trim();
        if body.is_empty() {
            apart = true;
        } else {
            let start = at + (piece.len() - piece.trim_start().len());
            found.push(Segment {
                range: start..start + body.len(),
                apart,
            });
            apart = false;
        }
        at += piece.len();
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
