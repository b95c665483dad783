//! The pieces of a line that are set apart from the words around them.

use std::ops::Range;

use memchr::{memchr_iter, memchr2_iter, memrchr};

use super::segment::Segment;
use crate::property::is_alphanumeric;

/// No longer piece can be a code.
const LONGEST: usize = 60;
const SHORTEST: usize = 5;

/// The whole line, what follows its last colon, what is in quotation marks, what is bold, and
/// a word in capitals with a number.
pub(super) fn pieces<'r>(
    text: &str,
    line: &Segment,
    bold: impl Iterator<Item = &'r Range<usize>>,
) -> Vec<Range<usize>> {
    let core = line.core.clone();
    let start = line.range.start;
    let written = text.get(line.range.clone()).unwrap_or_default();
    let mut pieces = vec![core.clone()];
    if let Some(colon) = memrchr(b':', written.as_bytes())
        && written.as_bytes().get(colon + 1) == Some(&b' ')
    {
        let after = start + colon + 1;
        pieces.push(after..core.end.max(after));
    }
    let in_line = quoted(written).chain(named_numbers(written));
    pieces.extend(in_line.map(|piece| start + piece.start..start + piece.end));
    let in_line = |one: &Range<usize>| one.start.max(core.start)..one.end.min(core.end);
    pieces.extend(bold.map(in_line).filter(|one| !one.is_empty()));
    pieces
        .into_iter()
        .map(|piece| trimmed(text, piece))
        .filter(|piece| (SHORTEST..=LONGEST).contains(&piece.len()))
        .filter(|piece| core.start <= piece.start && piece.end <= core.end)
        .collect()
}

/// What stands between one quotation mark, or one star, and the next.
fn quoted(line: &str) -> impl Iterator<Item = Range<usize>> {
    let ascii = memchr2_iter(b'"', b'*', line.as_bytes());
    let corners = (!line.is_ascii()).then(|| line.match_indices(['「', '」']));
    let corners = corners.into_iter().flatten().map(|(at, _)| at);
    let mut marks: Vec<usize> = ascii.chain(corners).collect();
    marks.sort_unstable();
    let next = marks.clone().into_iter().skip(1);
    marks.into_iter().zip(next).map(|(from, until)| from..until)
}

/// A word in capitals and a number of up to three digits after it: `PELICAN 46`.
fn named_numbers(line: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = line.as_bytes();
    memchr_iter(b' ', bytes).filter_map(move |at| {
        let is_one = bytes.get(at.checked_sub(1)?)?.is_ascii_uppercase()
            && bytes.get(at + 1)?.is_ascii_digit();
        if !is_one {
            return None;
        }
        let (before, after) = bytes.split_at(at);
        let capitals = before.iter().rev();
        let capitals = capitals
            .take_while(|byte| byte.is_ascii_uppercase())
            .count();
        let digits = after.iter().skip(1);
        let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
        let (start, end) = (at - capitals, at + 1 + digits);
        let is_end = |c: Option<char>| c.is_none_or(|c| !is_alphanumeric(c) && c != '-');
        let is_whole = is_end(line.get(..start)?.chars().next_back())
            && is_end(line.get(end..)?.chars().next());
        let fits = (3..=10).contains(&capitals) && (1..=3).contains(&digits);
        (fits && is_whole).then_some(start..end)
    })
}

/// A range from its first to its last letter or digit.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let body = text.get(range.clone()).unwrap_or_default();
    let from = body.find(is_alphanumeric).unwrap_or(body.len());
    let core = body.trim_end_matches(|c: char| !is_alphanumeric(c));
    range.start + from..range.start + core.len().max(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::segment::segments;

    fn pieces_of(line: &str) -> Vec<&str> {
        let segments = segments(line);
        let pieces = pieces(line, segments.first().unwrap(), [].iter());
        let pieces = pieces.into_iter().map(|piece| line.get(piece).unwrap());
        pieces.collect()
    }

    #[test]
    fn line_and_what_follows_a_colon_are_pieces() {
        assert_eq!(pieces_of("  copper lamp.  "), ["copper lamp"]);
        assert_eq!(
            pieces_of("Your words: copper lamp."),
            ["Your words: copper lamp", "copper lamp"]
        );
    }

    #[test]
    fn quoted_words_and_named_numbers_are_pieces() {
        let line = "Please tell the person on the phone \"copper lamp\", and type PELICAN 46 too";
        assert_eq!(pieces_of(line), ["copper lamp", "PELICAN 46"]);
    }

    #[test]
    fn part_of_a_word_and_a_number_are_no_piece() {
        for line in [
            "see the long timetable of the train XPELICAN-A 4650 or RE 7a for the whole of the day",
            "see the long timetable of the train aPELICAN 46 and of PELICAN 46b for the whole day",
        ] {
            assert!(pieces_of(line).is_empty(), "{line}");
        }
    }
}
