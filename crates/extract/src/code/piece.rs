//! The pieces of a line that are set apart from the words around them.

use std::ops::Range;

use memchr::{memchr_iter, memchr2_iter, memrchr};

use super::context::Context;
use super::segment::Segment;
use crate::property::is_alphanumeric;
use crate::words::are_things;

/// No longer piece can be a code.
const LONGEST: usize = 60;
const SHORTEST: usize = 4;

/// A piece of a line.
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    /// It is set apart from its sentence.
    pub(super) is_apart: bool,
}

/// The whole line, what follows its last colon, what is in quotation marks, what is bold, a
/// word in capitals or a known thing with a number, and a word with a number that is not Latin.
pub(super) fn pieces(context: &Context<'_>, line: &Segment) -> Vec<Piece> {
    let text = context.text();
    let core = line.core.clone();
    let start = line.range.start;
    let written = text.get(line.range.clone()).unwrap_or_default();
    let mut apart = vec![core.clone()];
    if let Some(colon) = memrchr(b':', written.as_bytes())
        && written.as_bytes().get(colon + 1) == Some(&b' ')
    {
        let after = start + colon + 1;
        apart.push(after..core.end.max(after));
    }
    let whole = |piece: Range<usize>| start + piece.start..start + piece.end;
    apart.extend(quoted(written).map(whole));
    let in_line = |one: &Range<usize>| one.start.max(core.start)..one.end.min(core.end);
    let bold = context.reading.stressed_in(&line.range).map(in_line);
    apart.extend(bold.filter(|one| !one.is_empty()));
    let within = named_numbers(written)
        .chain(numbered_words(written))
        .chain(accented_words(context, line))
        .map(whole);
    let within = within.map(|range| (range, false));
    let apart = apart.into_iter().map(|range| (range, true));
    apart
        .chain(within)
        .map(|(range, is_apart)| Piece {
            range: trimmed(text, range),
            is_apart,
        })
        .filter(|piece| (SHORTEST..=LONGEST).contains(&piece.range.len()))
        .filter(|piece| core.start <= piece.range.start && piece.range.end <= core.end)
        .collect()
}

/// Whether a word with a number is rather a part of a longer code or of an amount: `velvet tuna
/// 66`, `tuna 66 B`, `tuna 66.5`.
fn is_part_of_more(line: &str, start: usize, end: usize) -> bool {
    let before = line.get(..start).unwrap_or_default();
    let after = line.get(end..).unwrap_or_default();
    let last = before.trim_end().rsplit(' ').next().unwrap_or_default();
    let is_joined = before.ends_with(' ') && !last.is_empty() && are_known(last);
    let next = after.strip_prefix(' ').unwrap_or_default();
    let next = next.split(|c| !is_alphanumeric(c)).next();
    let next = next.unwrap_or_default();
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let has_decimals =
        after.starts_with(['.', ',']) && after.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let is_followed = !next.is_empty() && (are_known(next) || next.bytes().all(is_capital));
    is_joined || is_followed || has_decimals
}

/// Whether a piece of a text names things, and nothing else.
fn are_known(piece: &str) -> bool {
    piece.contains(char::is_alphabetic) && are_things(piece)
}

/// `КЛЕН47`, `жук-305`: a whole word with digits that is not Latin.
fn numbered_words(line: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = line.as_bytes();
    let is_digit = move |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_foreign = move |at: usize| bytes.get(at).is_some_and(|byte| !byte.is_ascii());
    let is_dash = move |at: usize| bytes.get(at) == Some(&b'-');
    let ends = if line.is_ascii() { 0 } else { bytes.len() };
    let places = (0..ends).filter(move |at| {
        // A digit next to a letter that is not ASCII, or with a dash between them.
        let before = at.wrapping_sub(1);
        let is_next = is_foreign(at + 1) || is_dash(at + 1) && is_foreign(at + 2);
        let is_after = is_foreign(before) || is_dash(before) && is_foreign(before.wrapping_sub(1));
        is_digit(*at) && (is_next || is_after)
    });
    words_at(line, places)
}

/// `ÆBLE-31`, `BÜKK9`: a whole word with digits that has accents, which folding takes away.
fn accented_words<'t>(
    context: &'t Context<'_>,
    line: &Segment,
) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let (start, range) = (line.range.start, line.range.clone());
    let written = context.text().get(range.clone()).unwrap_or_default();
    let letters = context.reading.folded.altered_letters_in(&range);
    let is_latin = |word: &str| word.is_ascii() && word.contains(|c: char| c.is_ascii_digit());
    words_at(written, letters.map(move |at| at - start))
        .filter(move |word| written.get(word.clone()).is_some_and(is_latin))
}

/// The whole words at some places of a line, which rise. None has more characters than these
/// on either side of its place.
fn words_at(line: &str, places: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    const LONGEST: usize = 24;
    let is_of_word = |c: &char| is_alphanumeric(*c) || *c == '-';
    let mut done = 0;
    places.filter_map(move |at| {
        if at < done {
            return None;
        }
        let (left, right) = (line.get(..at)?, line.get(at..)?);
        let left = left.chars().rev().take(LONGEST).take_while(is_of_word);
        let right = right.chars().take(LONGEST).take_while(is_of_word);
        let start = at - left.map(char::len_utf8).sum::<usize>();
        let end = at + right.map(char::len_utf8).sum::<usize>();
        done = end;
        let goes_on = |c: Option<char>| c.is_some_and(|c| is_of_word(&c));
        let is_part = goes_on(line.get(..start)?.chars().next_back())
            || goes_on(line.get(end..)?.chars().next());
        (!is_part).then_some(start..end)
    })
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

/// A word in capitals, or the name of a thing, and a number of up to three digits after it:
/// `PELICAN 46`, `tuna 66`.
fn named_numbers(line: &str) -> impl Iterator<Item = Range<usize>> {
    const MOST_LETTERS: usize = 12;
    let bytes = line.as_bytes();
    memchr_iter(b' ', bytes).filter_map(move |at| {
        if !bytes.get(at + 1)?.is_ascii_digit() {
            return None;
        }
        let (before, after) = line.split_at_checked(at)?;
        let letters = before.chars().rev().take(MOST_LETTERS);
        let letters = letters.take_while(|c| c.is_alphabetic());
        let length: usize = letters.map(char::len_utf8).sum();
        let digits = after.bytes().skip(1);
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let (start, end) = (at - length, at + 1 + digits);
        let is_end = |c: Option<char>| c.is_none_or(|c| !is_alphanumeric(c) && c != '-');
        let is_whole = length > 0
            && is_end(line.get(..start)?.chars().next_back())
            && is_end(line.get(end..)?.chars().next());
        if !(1..=3).contains(&digits) || !is_whole {
            return None;
        }
        let word = line.get(start..at)?;
        let is_in_capitals = word.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_named = is_in_capitals && (3..=10).contains(&length) || are_things(word);
        (is_named && !is_part_of_more(line, start, end)).then_some(start..end)
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
    use crate::lexicon::Memory;
    use crate::reading::{Reading, TextSource};
    use crate::steps::Steps;

    fn pieces_of(line: &str) -> Vec<&str> {
        let steps = Steps::for_size(line.len());
        let reading = Reading::of_line(TextSource::Text, line);
        let context = Context::of(&reading, &mut Memory::default(), &steps);
        let pieces = pieces(&context, context.segments.first().unwrap());
        let pieces = pieces
            .into_iter()
            .map(|piece| line.get(piece.range).unwrap());
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
    fn words_with_digits_that_are_not_latin_are_pieces() {
        let line = "запишите это число как есть, слово в слово: нужно ввести клен47 на странице \
                    входа, а не жук-305 или 2026 год";
        assert_eq!(pieces_of(line), ["клен47", "жук-305"]);
    }

    #[test]
    fn long_word_with_digits_is_not_cut() {
        for word in [
            "ПОДСОЛНЕЧНИК-РОМАШКА-МАЛИНА-48",
            "СТЕКЛО-РОМАШКА-МАЛИНА-РОМАШКА-48",
            "48-РОМАШКА-МАЛИНА-ПОДСОЛНЕЧНИК",
        ] {
            let line = format!("нужно ввести {word} на странице входа в течение десяти минут");
            assert!(pieces_of(&line).is_empty(), "{word}");
        }
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
