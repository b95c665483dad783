//! Codes of words: `copper heron lamp`, `GRAN 27`, `elm-39-bridge`.
//!
//! Every sentence consists of words, so only words that are set apart can be a code. And the
//! value reaches an agent, so it must say nothing: words that stand for more than things and
//! numbers are no code, and neither are more than three words.

use std::ops::Range;

use memchr::memchr_iter;
use unicode_normalization::char::is_combining_mark;

use super::candidate::Candidate;
use super::context::Context;
use super::number::is_digits;
use super::piece::pieces;
use super::segment::{Segment, heading};
use super::shape::Shape;
use crate::lexicon::Hit;
use crate::property::is_alphanumeric;
use crate::reading::Reading;

/// The most words, and words and numbers, of such a code.
const MOST_WORDS: usize = 3;
const MOST_PARTS: usize = 5;
/// The most letters and digits of words, and of short groups.
const LONGEST_WORDS: usize = 28;
const LONGEST_GROUPS: usize = 12;
/// More such codes, and more pieces that may be one, than any honest mail has.
const MOST: usize = 20;
const TRIED: usize = 1_000;
/// Steps charged for a byte of a line, and for a piece of it that has the form of a code.
const PER_BYTE: usize = 4;
const PER_PHRASE: usize = 400;

/// Adds the codes of words to the candidates of a reading. A number that is a part of such
/// a code is none by itself.
pub(super) fn add_phrases(context: &Context<'_>, found: &mut Vec<Candidate>) {
    let (text, reading, steps) = (context.text(), context.reading, context.steps);
    let (mut phrases, mut tried) = (Vec::new(), 0);
    for (at, line) in context.segments.iter().enumerate() {
        if !steps.charge(PER_BYTE * line.range.len()) || phrases.len() >= MOST || tried > TRIED {
            break;
        }
        for range in pieces(text, line, reading.stressed_in(&line.range)) {
            if is_sentence(reading, &range) {
                continue;
            }
            tried += 1;
            steps.charge(PER_PHRASE);
            let value = reading.folded.as_written(&range);
            if let Some(shape) = shape(&value)
                && terms_in(&range, &context.hits).is_empty()
                && !says_more(&range, &context.concepts().hits)
            {
                phrases.push(candidate(text, (range, value, shape), (at, line)));
            }
        }
    }
    for phrase in phrases {
        let covers = |one: &Candidate| {
            phrase.range.start <= one.range.start && one.range.end <= phrase.range.end
        };
        let overlaps = |one: &&Candidate| {
            one.range.start < phrase.range.end && phrase.range.start < one.range.end
        };
        let is_new = found
            .iter()
            .filter(overlaps)
            .all(|one| covers(one) && one.range != phrase.range);
        if is_new {
            found.retain(|one| !covers(one));
            let at = found.partition_point(|one| one.range.start < phrase.range.start);
            found.insert(at, phrase);
        }
    }
}

fn candidate(
    text: &str,
    (range, value, shape): (Range<usize>, String, Shape),
    (at, line): (usize, &Segment),
) -> Candidate {
    let alone = line.core == range;
    Candidate {
        compact: value.chars().filter(|c| is_part(*c)).collect(),
        value,
        shape,
        segment: at,
        alone,
        numbered: false,
        known: false,
        heading: alone.then(|| heading(text, range.start)).flatten(),
        range,
    }
}

/// Whether a piece is clearly no code. Nearly all are, so this comes first.
fn is_sentence(reading: &Reading, range: &Range<usize>) -> bool {
    let bytes = reading.text().as_bytes().get(range.clone());
    let bytes = bytes.unwrap_or_default();
    let spaces = memchr_iter(b' ', bytes).count();
    if spaces >= 2 * MOST_PARTS || spaces >= MOST_PARTS && !has_signs(bytes) {
        return true;
    }
    let has = |is: fn(&u8) -> bool| bytes.iter().any(is);
    // Folding makes other letters small.
    has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && !has(u8::is_ascii_digit)
        && reading.folded.is_verbatim(range)
}

/// Whether there is a sign that may stand between two spaces in a code.
fn has_signs(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte == b'-' || !byte.is_ascii())
}

/// The shape of a piece, if it can be a code: words and numbers, or short groups of letters
/// and digits.
fn shape(piece: &str) -> Option<Shape> {
    let parts = || piece.split(|c| !is_part(c)).filter(|part| !part.is_empty());
    let gaps = || piece.split(is_part).filter(|gap| !gap.is_empty());
    let count = parts().count();
    let numbers = parts().filter(|part| is_number(part)).count();
    let words = parts().filter(|part| is_word(part)).count();
    let groups = parts().filter(|part| is_group(part)).count();
    let length: usize = parts().map(|part| part.chars().count()).sum();
    // One word or group of ASCII has a shape of its own.
    if count > MOST_PARTS
        || count == 1 && piece.is_ascii()
        || !gaps().all(is_gap)
        || has_two_scripts(piece)
    {
        return None;
    }
    let is_even = || gaps().all(|gap| Some(gap) == gaps().next());
    let are_words = (1..=MOST_WORDS).contains(&words)
        && words + numbers == count
        && (4..=LONGEST_WORDS).contains(&length);
    let are_groups = groups > 0
        && groups + numbers == count
        && (4..=LONGEST_GROUPS).contains(&length)
        && piece.contains(|c: char| c.is_ascii_digit())
        && !has_label(piece);
    if are_words && is_even() && stand_out(piece, count, numbers) {
        Some(Shape::Words)
    } else {
        are_groups.then_some(Shape::Dashed)
    }
}

/// Whether words look different from those of a sentence: all letters are capitals, or none
/// is. In a script without capitals, a number or a dash is needed.
fn stand_out(piece: &str, count: usize, numbers: usize) -> bool {
    let has_capital = piece.contains(char::is_uppercase);
    let has_small = piece.contains(char::is_lowercase);
    match (has_capital, has_small) {
        (true, true) => false,
        (false, false) => numbers > 0 || count > 1 && !piece.contains(' '),
        _ => true,
    }
}

/// A letter, a mark on a letter, or a digit.
fn is_part(c: char) -> bool {
    is_alphanumeric(c) || !c.is_ascii() && is_combining_mark(c)
}

/// Three to twelve letters, or two where a letter may be a syllable.
fn is_word(part: &str) -> bool {
    let fewest = if part.is_ascii() { 3 } else { 2 };
    (fewest..=12).contains(&part.chars().count()) && !part.contains(|c: char| c.is_ascii_digit())
}

/// Before a longer number, a word is rather its label.
fn is_number(part: &str) -> bool {
    (1..=4).contains(&part.len()) && is_digits(part)
}

/// `id 4821`: a small word before a number that is a code by itself.
fn has_label(piece: &str) -> bool {
    let number = piece.rsplit_once(' ').map(|(_, number)| number);
    number.is_some_and(|number| number.len() == 4 && is_digits(number))
        && piece.contains(|c: char| c.is_lowercase())
}

/// Up to five letters and digits. A word with digits that is not Latin may have more.
fn is_group(part: &str) -> bool {
    let most = if part.is_ascii() { 5 } else { LONGEST_GROUPS };
    part.chars().count() <= most && !is_digits(part) && !is_word(part)
}

/// Whether Latin letters stand beside others: they may look alike.
fn has_two_scripts(piece: &str) -> bool {
    const FIRST_GREEK: char = '\u{370}';
    let has_latin = piece.contains(|c: char| c.is_alphabetic() && c < FIRST_GREEK);
    has_latin && piece.contains(|c: char| c.is_alphabetic() && c >= FIRST_GREEK)
}

/// Whether this stands between two parts of a code.
fn is_gap(gap: &str) -> bool {
    matches!(
        gap,
        " " | "-" | "." | "_" | "/" | "·" | ", " | " - " | " · "
    )
}

/// The terms that overlap a range.
fn terms_in<'h>(range: &Range<usize>, hits: &'h [Hit]) -> &'h [Hit] {
    let from = hits.partition_point(|hit| hit.end() <= range.start);
    let until = hits.partition_point(|hit| hit.start() < range.end);
    hits.get(from..until).unwrap_or_default()
}

/// Whether a word stands for more than a thing or a number: an act, a person, a time.
fn says_more(range: &Range<usize>, concepts: &[Hit]) -> bool {
    let mut hits = terms_in(range, concepts).iter();
    hits.any(Hit::says_more_than_a_thing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_have_a_shape() {
        for piece in [
            "copper heron lamp",
            "MANGO KETTLE",
            "GRAN 27",
            "elm-39-bridge",
            "pino.vela.sasso.7",
            "27 martins",
            "луна-48",
            "ГРАБ 507",
            "калина",
            "KAŠTAN",
            "ひばり 27",
        ] {
            assert_eq!(shape(piece), Some(Shape::Words), "{piece}");
        }
        for piece in ["A1 77 Z", "wq 81 zt", "PL 77 - 20 - KR", "жкл507", "н7п4"] {
            assert_eq!(shape(piece), Some(Shape::Dashed), "{piece}");
        }
    }

    #[test]
    fn sentences_and_mixed_scripts_have_no_shape() {
        for piece in [
            "Kind regards",
            "copper heron lamp otter",
            "copper, heron lamp",
            "copper: lamp",
            "Добрый день",
            "с уважением Анна",
            "青山晚钟",
            "こんにちは さん",
            "cорреr lamp",
            "copper",
            "482 913",
            "KODENI 48213",
            "id 4821",
        ] {
            assert_eq!(shape(piece), None, "{piece}");
        }
    }
}
