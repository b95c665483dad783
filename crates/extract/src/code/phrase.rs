//! Codes of words: `copper heron lamp`, `GRAN 27`, `elm-39-bridge`.
//!
//! Every sentence consists of words, so only words that are set apart can be a code. And the
//! value reaches an agent, so it must carry no sentence: words that stand for more than things
//! and numbers are no code, and neither are more than three words.

use std::ops::Range;

use memchr::memchr_iter;

use super::asked::{is_asked_for, terms_in};
use super::audience::Audience;
use super::candidate::Candidate;
use super::context::Context;
use super::cut::is_cut_from;
use super::number::is_digits;
use super::piece::{Piece, pieces};
use super::segment::{Segment, heading};
use super::shape::{Shape, is_random};
use super::wording::{MOST_PARTS, is_part, is_word, most_letters, wording};
use crate::lexicon::{Hit, Languages, concept_hits};
use crate::property::is_alphanumeric;
use crate::reading::{Reading, Stress, TextSource};
use crate::steps::Steps;
use crate::words::{WordLimit, are_mostly_things, are_things, has_order, reads_as_words};

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
    found.retain(|one| !is_named_number(&one.value) || is_wanted(&one.value, &one.range, context));
    let (mut phrases, mut tried) = (Vec::new(), 0);
    for (at, line) in context.segments.iter().enumerate() {
        steps.charge(PER_BYTE * line.range.len());
        for Piece { range, is_apart } in pieces(context, line) {
            if is_sentence(reading, &range) {
                continue;
            }
            tried += 1;
            if phrases.len() >= MOST || tried > TRIED || !steps.charge(PER_PHRASE) {
                put_in(phrases, found);
                return true;
            }
            if let Some(value) = reading.folded.as_written(&range)
                && let Some(shape) = wording(&value)
                && (is_apart || is_inline(&value, &range, context))
                && !(range == line.core && is_wrapped(at, context))
                && says_nothing(&value, &range, context)
                && is_wanted(&value, &range, context)
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
        let is_inside = |one: &Candidate| {
            let is_weak = match one.shape {
                Shape::Digits => one.compact.len() == 4,
                Shape::Letters | Shape::SmallLetters => {
                    !is_random(&one.value) || are_random(&phrase)
                }
                Shape::Dashed | Shape::Words => true,
                Shape::Grouped | Shape::Prefixed | Shape::Mixed | Shape::MixedCase => false,
            };
            phrase.range.start <= one.range.start
                && one.range.end <= phrase.range.end
                && one.range != phrase.range
                && (is_weak || is_cut_from(one, &phrase))
        };
        if found.iter().filter(overlaps).all(is_inside) {
            found.retain(|one| !overlaps(&one));
            let at = found.partition_point(|one| one.range.start < phrase.range.start);
            found.insert(at, phrase);
        }
    }
}

/// Whether no group of letters is a word: `FZNC QMBE`.
fn are_random(phrase: &Candidate) -> bool {
    phrase.value.split(|c| !is_part(c)).all(is_random)
}

fn candidate(
    text: &str,
    (range, value, shape): (Range<usize>, String, Shape),
    (at, line): (usize, &Segment),
) -> Candidate {
    let alone = line.core == range;
    Candidate {
        audience: Audience::People,
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

/// Whether no word says more than a thing or a number: no act, no person, no time. Several
/// words must say nothing in any language, because a stranger may choose it. One word says
/// little, so it is compared with the languages of the text only.
fn says_nothing(piece: &str, range: &Range<usize>, context: &Context<'_>) -> bool {
    // Concepts are only known in the part of the text that is examined.
    if context.reading.examined().len() < range.end || has_order(piece) {
        return false;
    }
    let words = piece.split(|c| !is_part(c)).filter(|part| is_word(part));
    let words = words.count();
    let text = context.text().get(range.clone()).unwrap_or_default();
    let is_strange = most_letters(piece).is_some();
    // "A1 77 Z": one or two letters are no word beside a group of letters and digits.
    let mut parts = piece.split(|c| !is_part(c));
    let is_mixed = parts.any(is_mixed);
    let is_dashed = wording(piece) == Some(Shape::Dashed);
    let fewest = if is_dashed && (words > 0 || is_mixed) && !is_strange {
        3
    } else {
        0
    };
    let is_term = |hit: &&Hit| {
        let term = context.text().get(hit.range());
        term.is_some_and(|term| term.chars().count() >= fewest)
    };
    if terms_in(range, &context.hits)
        .iter()
        .any(|hit| is_term(&hit))
    {
        return false;
    }
    if is_strange {
        is_known_thing(piece, context.steps)
    } else if words > 1 {
        let says_more = |text| {
            let hits = concept_hits(text, Languages::ALL, context.steps);
            hits.iter().any(Hit::says_more_than_a_thing)
        };
        are_things(text)
            || (are_mostly_things(text) || !reads_as_words(text, WordLimit::Phrase))
                && !says_more(text)
    } else {
        let hits = terms_in(range, &context.concepts().hits).iter();
        !hits.filter(is_term).any(Hit::says_more_than_a_thing)
    }
}

/// Whether the word of a piece is known to stand for a thing. In some scripts two letters can
/// be an order, such as "kill", and no lexicon has all of them.
fn is_known_thing(piece: &str, steps: &Steps<'_>) -> bool {
    let word = piece.trim_matches(|c: char| !c.is_alphabetic());
    let hits = concept_hits(word, Languages::ALL, steps);
    are_things(word)
        || hits.iter().any(|hit| hit.range() == (0..word.len()))
            && !hits.iter().any(Hit::says_more_than_a_thing)
}

/// Whether a piece of a sentence is in capitals or names a known thing, and the text near asks
/// for it, or it is in capitals and has a number and no space.
fn is_inline(value: &str, range: &Range<usize>, context: &Context<'_>) -> bool {
    let is_in_capitals = !value.contains(char::is_lowercase) && value.contains(char::is_uppercase);
    let has_number = value.contains(|c: char| c.is_ascii_digit()) && !value.contains(' ');
    is_in_capitals && has_number
        || (!value.contains(char::is_lowercase) || are_things(value))
            && is_asked_for(range, context)
}

/// Whether the text near asks for a value. Few names have a number and no space, and few names
/// with a number are bold by themselves.
fn is_wanted(value: &str, range: &Range<usize>, context: &Context<'_>) -> bool {
    let is_large = || context.reading.is_emphasised(range.start);
    let is_bold = || context.reading.stress(range) == Stress::Alone || is_large();
    let is_name_with_number =
        value.contains(|c: char| c.is_ascii_digit()) && value.starts_with(char::is_alphabetic);
    is_name_with_number && (!value.contains(' ') || is_bold()) || is_asked_for(range, context)
}

fn is_mixed(part: &str) -> bool {
    part.contains(char::is_alphabetic) && part.contains(|c: char| c.is_ascii_digit())
}

/// `PIXEL 8`: a word in capitals and a short number.
fn is_named_number(value: &str) -> bool {
    value.split_once([' ', '-']).is_some_and(|(word, number)| {
        let is_word = word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        is_word && !is_random(word) && number.len() < 4 && is_digits(number)
    })
}
