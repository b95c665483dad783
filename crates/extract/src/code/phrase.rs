//! Codes of words: `copper heron lamp`, `GRAN 27`, `elm-39-bridge`.
//!
//! Every sentence consists of words, so only words that are set apart can be a code. And the
//! value reaches an agent, so it must carry no sentence: words that stand for more than things
//! and numbers are no code, and neither are more than three words.

use std::ops::Range;

use memchr::memchr_iter;

use super::alphabet::{Alphabet, is_of_one_alphabet};
use super::candidate::{Candidate, is_random};
use super::context::Context;
use super::number::is_digits;
use super::piece::pieces;
use super::segment::{Segment, heading};
use super::shape::Shape;
use crate::lexicon::{Hit, Languages, Sense, concept_hits};
use crate::property::is_alphanumeric;
use crate::reading::{Reading, TextSource};
use crate::words::{WordLimit, reads_as_words};

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

/// Adds the codes of words to the candidates of a reading. Returns whether there are more
/// than are examined.
pub(super) fn add_phrases(context: &Context<'_>, found: &mut Vec<Candidate>) -> bool {
    let (text, reading, steps) = (context.text(), context.reading, context.steps);
    found.retain(|one| !is_named_number(&one.value) || is_asked_for(&one.range, context));
    let (mut phrases, mut tried) = (Vec::new(), 0);
    for (at, line) in context.segments.iter().enumerate() {
        steps.charge(PER_BYTE * line.range.len());
        for range in pieces(text, line, reading.stressed_in(&line.range)) {
            if is_sentence(reading, &range) {
                continue;
            }
            tried += 1;
            if phrases.len() >= MOST || tried > TRIED || !steps.charge(PER_PHRASE) {
                put_in(phrases, found);
                return true;
            }
            if let Some(value) = reading.folded.as_written(&range)
                && let Some(shape) = shape(&value)
                && !(range == line.core && is_wrapped(at, context))
                && says_nothing(&value, &range, context)
                && is_asked_for(&range, context)
            {
                phrases.push(candidate(text, (range, value, shape), (at, line)));
            }
        }
    }
    put_in(phrases, found);
    false
}

/// Puts the phrases between the other candidates. A number that is a part of a phrase is no
/// code by itself, unless it has the form of one: then the word is rather its label.
fn put_in(phrases: Vec<Candidate>, found: &mut Vec<Candidate>) {
    for phrase in phrases {
        let overlaps = |one: &&Candidate| {
            one.range.start < phrase.range.end && phrase.range.start < one.range.end
        };
        let is_part = |one: &Candidate| {
            let is_weak = match one.shape {
                Shape::Digits => one.compact.len() == 4,
                Shape::Letters | Shape::SmallLetters => !is_random(&one.value),
                Shape::Dashed | Shape::Words => true,
                Shape::Grouped | Shape::Prefixed | Shape::Mixed | Shape::MixedCase => false,
            };
            phrase.range.start <= one.range.start
                && one.range.end <= phrase.range.end
                && one.range != phrase.range
                && is_weak
        };
        if found.iter().filter(overlaps).all(is_part) {
            found.retain(|one| !overlaps(&one));
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

/// Whether a line of plain text goes on with a sentence of the line above: programs break long
/// lines, so the last word of a sentence may have a line of its own.
fn is_wrapped(at: usize, context: &Context<'_>) -> bool {
    const FULL: usize = 55;
    let line = |at: usize| context.segments.get(at);
    let (Some(above), Some(own)) = (at.checked_sub(1).and_then(line), line(at)) else {
        return false;
    };
    let (start, text) = (own.range.start, context.text());
    let text = |range: Range<usize>| text.get(range).unwrap_or_default();
    // Not in a frame, and not indented.
    let is_plain =
        own.core.start == start && text(above.range.end..start).trim_matches(' ') == "\n";
    let goes_on = |c: char| is_alphanumeric(c) || c == ',';
    context.reading.source == TextSource::Text
        && is_plain
        && text(above.range.clone()).ends_with(goes_on)
        && text(above.range.clone()).chars().take(FULL).count() == FULL
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
        || !is_of_one_alphabet(piece)
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

/// A letter of a known alphabet, or a digit.
fn is_part(c: char) -> bool {
    c.is_ascii_digit() || Alphabet::of(c).is_some()
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

/// Whether this stands between two parts of a code. Dots and slashes join hosts and paths.
fn is_gap(gap: &str) -> bool {
    matches!(gap, " " | "-" | "·" | ", " | " - " | " · ")
}

/// Whether no word says more than a thing or a number: no act, no person, no time. Several
/// words must say nothing in any language, because a stranger may choose it. One word says
/// little, so it is compared with the languages of the text only.
fn says_nothing(piece: &str, range: &Range<usize>, context: &Context<'_>) -> bool {
    // Concepts are only known in the part of the text that is examined.
    if context.reading.examined().len() < range.end || !terms_in(range, &context.hits).is_empty() {
        return false;
    }
    let says_more = |hits: &[Hit]| hits.iter().any(Hit::says_more_than_a_thing);
    let words = piece.split(|c| !is_part(c)).filter(|part| is_word(part));
    if words.count() > 1 {
        let piece = context.text().get(range.clone()).unwrap_or_default();
        !reads_as_words(piece, WordLimit::Phrase)
            && !says_more(&concept_hits(piece, Languages::ALL, context.steps))
    } else {
        !says_more(terms_in(range, &context.concepts().hits))
    }
}

/// `PIXEL 8`: a word in capitals and a short number.
fn is_named_number(value: &str) -> bool {
    value.split_once([' ', '-']).is_some_and(|(word, number)| {
        let is_word = word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        is_word && !is_random(word) && number.len() < 4 && is_digits(number)
    })
}

/// Whether the text near asks for something, or names a secret directly before. Otherwise the
/// words are mostly a name: a product, a place, a song.
fn is_asked_for(range: &Range<usize>, context: &Context<'_>) -> bool {
    const BEFORE: usize = 160;
    const AFTER: usize = 60;
    let cues = &context.concepts().cues;
    let says = |near: Range<usize>, cue: Sense| {
        let near = terms_in(&near, cues);
        near.iter().any(|hit| hit.sense.says(cue))
    };
    let before = context.text().get(..range.start).unwrap_or_default();
    let is_announced = before
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '*'))
        .ends_with(':');
    let near = |bytes: usize| range.start.saturating_sub(bytes)..range.start;
    let has_label = terms_in(&near(3), &context.hits)
        .iter()
        .any(|hit| hit.sense.says(Sense::CODE.or(Sense::WORD)));
    says(near(BEFORE), Sense::ASK)
        || says(range.end..range.end + AFTER, Sense::ASK)
        || is_announced && says(near(AFTER), Sense::THING)
        || has_label
}

/// The terms that overlap a range.
fn terms_in<'h>(range: &Range<usize>, hits: &'h [Hit]) -> &'h [Hit] {
    let from = hits.partition_point(|hit| hit.end() <= range.start);
    let until = hits.partition_point(|hit| hit.start() < range.end);
    hits.get(from..until).unwrap_or_default()
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
            "pino-vela-sasso-7",
            "27 martins",
            "луна-48",
            "ГРАБ 507",
            "калина",
            "KAŠTAN",
            "ვაზი-348",
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
            "ѕеոԁ ոоԝ",
            "𝐬𝐞𝐧𝐝 𝐦𝐨𝐧𝐞𝐲",
            "删除-马上",
            "ひばり 27",
            "mallory.com",
            "etc/shadow",
            "copper",
            "482 913",
            "KODENI 48213",
            "id 4821",
        ] {
            assert_eq!(shape(piece), None, "{piece}");
        }
    }
}
