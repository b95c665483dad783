//! Finds everything in a reading that has the shape of a code.

use std::fmt;
use std::ops::Range;

use super::apart::is_set_apart_whole;
use super::audience::Audience;
use super::context::Context;
use super::counted::is_counted;
use super::disguise::{disguised, is_handed_over};
use super::even::letter_groups;
use super::mask::is_masked;
use super::run::{Run, digit_groups, spelled_out};
use super::segment::{Segment, heading};
use super::shape::{Shape, is_random, shape_apart, shape_of};
use super::token::{Form, Token, tokens};
use super::uneven::uneven_groups;
use crate::fold::BARRIER;
use crate::lexicon::{Hit, Sense};

/// More than any honest mail has.
const MAX_CANDIDATES: usize = 200;
/// Steps charged for a token.
const PER_TOKEN: usize = 30;
/// Steps charged for a token that may begin a code of several tokens. It is compared with
/// the tokens after it, in several ways.
const PER_RUN: usize = 200;

/// A piece of text with the shape of a code.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) range: Range<usize>,
    /// As printed; parts in several table cells are joined.
    pub(super) value: String,
    /// Letters and digits only.
    pub(super) compact: String,
    pub(super) shape: Shape,
    pub(super) segment: usize,
    /// Its line holds nothing else but punctuation.
    pub(super) alone: bool,
    /// A number sign comes before it.
    pub(super) numbered: bool,
    pub(super) audience: Audience,
    /// A term of a lexicon overlaps it.
    pub(super) known: bool,
    /// The heading of its column, if it is in a table with headings.
    pub(super) heading: Option<Range<usize>>,
}

/// Leaves the value out, because it must not reach a log.
impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("range", &self.range)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

/// The lines and the terms around an offset that only moves on.
struct Place<'r> {
    segments: &'r [Segment],
    hits: &'r [Hit],
    /// The first segment that ends after the offset.
    segment: usize,
    /// The first term that ends after the offset.
    hit: usize,
}

impl Place<'_> {
    fn move_to(&mut self, at: usize) {
        let later = self.segments.get(self.segment..).unwrap_or_default();
        let passed = later.iter().take_while(|segment| segment.range.end <= at);
        self.segment += passed.count();
        let later = self.hits.get(self.hit..).unwrap_or_default();
        self.hit += later.iter().take_while(|hit| hit.end() <= at).count();
    }

    /// The segment that contains the offset.
    fn segment(&self, at: usize) -> Option<&Segment> {
        let segment = self.segments.get(self.segment)?;
        segment.range.contains(&at).then_some(segment)
    }

    /// Whether a label or a colon comes directly before a word. Nearly every word has the
    /// shape of a code, so a word without them is no candidate.
    fn is_set_off(&self, text: &str, at: usize) -> bool {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let is_opening = |byte: &u8| matches!(byte, b' ' | b'"' | b'\'' | b'(' | b'[' | b'*');
        let Some(last) = before.iter().rposition(|byte| !is_opening(byte)) else {
            return false;
        };
        if matches!(before.get(last), Some(b':' | b'=')) {
            return true;
        }
        let earlier = self.hits.get(..self.hit).unwrap_or_default();
        let previous = earlier.iter().rev().find(|hit| hit.end() <= last + 1);
        previous.is_some_and(|hit| {
            hit.end() == last + 1 && hit.sense.says(Sense::CODE.or(Sense::WORD).or(Sense::IS))
        })
    }
}

/// The candidates of a reading, and whether there are more than are examined.
pub(super) fn candidates(context: &Context<'_>) -> (Vec<Candidate>, bool) {
    let (reading, hits, steps) = (context.reading, &context.hits, context.steps);
    let text = reading.text();
    steps.charge(6 * text.len());
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut place = Place {
        segments: &context.segments,
        hits,
        segment: 0,
        hit: 0,
    };
    let mut at = 0;
    while let Some(token) = tokens.get(at)
        && found.len() < MAX_CANDIDATES
        && steps.charge(if token.form == Form::Any {
            PER_RUN
        } else {
            PER_TOKEN
        })
    {
        match run(context, (&tokens, at)) {
            Some(Run::Nothing { used }) => at += used,
            Some(Run::Code {
                range,
                value,
                shape,
                used,
            }) => {
                at += used;
                found.extend(candidate(text, range, &value, shape, &mut place));
            }
            None => {
                at += 1;
                found.extend(single(context, token, &mut place));
            }
        }
    }
    (found, at < tokens.len())
}

/// The run of tokens that begins with a token, if there is one.
fn run(context: &Context<'_>, (tokens, at): (&[Token], usize)) -> Option<Run> {
    // No run begins with an ordinary word.
    if tokens.get(at)?.form != Form::Any {
        return None;
    }
    let (reading, text, hits) = (context.reading, context.text(), &context.hits);
    // "4821 10 minutes": the second number is counted, so the first is by itself.
    let is_whole = |run: &Run| match run {
        Run::Code { range, shape, .. } => !is_counted(text, range, *shape, hits),
        Run::Nothing { .. } => true,
    };
    spelled_out(reading, tokens, at)
        .or_else(|| digit_groups(reading, tokens, at))
        .or_else(|| {
            let even = letter_groups(text, tokens, at);
            let uneven = uneven_groups(context, tokens, at).filter(is_whole);
            longer(even, uneven)
        })
        .filter(is_whole)
}

/// The run of more tokens: `TR6 W0B 4` begins with two groups that are equally long.
fn longer(even: Option<Run>, uneven: Option<Run>) -> Option<Run> {
    let used = |run: &Option<Run>| run.as_ref().map_or(0, Run::used);
    if used(&uneven) > used(&even) {
        uneven
    } else {
        even
    }
}

/// One token by itself.
fn single(context: &Context<'_>, token: &Token, place: &mut Place<'_>) -> Option<Candidate> {
    // A word with a capital and a small letter has no shape, and neither has a small word that
    // is short or long.
    if token.form == Form::Word
        || token.form == Form::SmallWord && !(5..=10).contains(&token.range.len())
    {
        return None;
    }
    let text = context.text();
    let core = text.get(token.range.clone())?;
    let shape = match token.form {
        Form::SmallWord => Some(Shape::SmallLetters),
        Form::Word | Form::Any => shape_of(core),
    };
    let shape = shape
        .or_else(|| {
            shape_apart(core).filter(|_| {
                is_set_apart_whole(text, &token.range)
                    || is_handed_over(core, &token.range, context)
            })
        })
        .or_else(|| disguised(core).filter(|_| is_handed_over(core, &token.range, context)));
    candidate(text, token.range.clone(), core, shape?, place)
        .filter(|_| !is_masked(text, token, core))
}

fn candidate(
    text: &str,
    range: Range<usize>,
    value: &str,
    shape: Shape,
    place: &mut Place<'_>,
) -> Option<Candidate> {
    place.move_to(range.start);
    let alone = is_alone(place.segment(range.start)?, &range);
    let wordlike = shape.is_wordlike();
    let is_word = wordlike && !is_random(value);
    let stands_out = shape == Shape::Letters && stands_out(text, &range);
    if is_word && !alone && !stands_out && !place.is_set_off(text, range.start) {
        return None;
    }
    let hits = place.hits;
    if is_counted(text, &range, shape, hits) || touches_barrier(text, &range) {
        return None;
    }
    let overlaps = |hit: &Hit| hit.start() < range.end;
    Some(Candidate {
        audience: Audience::People,
        compact: value.chars().filter(char::is_ascii_alphanumeric).collect(),
        numbered: text
            .get(..range.start)
            .is_some_and(|before| before.ends_with(['#', '№'])),
        known: wordlike && hits.get(place.hit).is_some_and(overlaps),
        heading: alone.then(|| heading(text, range.start)).flatten(),
        range,
        value: value.to_owned(),
        shape,
        segment: place.segment,
        alone,
    })
}

/// Whether a word in capitals has no others near: in most texts that is a name or a code.
fn stands_out(text: &str, range: &Range<usize>) -> bool {
    const NEAR: usize = 40;
    let from = text.ceil_char_boundary(range.start.saturating_sub(NEAR));
    let until = text.floor_char_boundary((range.end + NEAR).min(text.len()));
    let before = text.get(from..range.start).unwrap_or_default();
    let after = text.get(range.end..until).unwrap_or_default();
    let is_capital = |pair: &[u8]| pair.iter().all(u8::is_ascii_uppercase);
    let has_capitals = |near: &str| near.as_bytes().windows(2).any(is_capital);
    (5..=8).contains(&range.len()) && !has_capitals(before) && !has_capitals(after)
}

fn touches_barrier(text: &str, range: &Range<usize>) -> bool {
    text.get(..range.start)
        .is_some_and(|before| before.ends_with(BARRIER))
        || text
            .get(range.end..)
            .is_some_and(|after| after.starts_with(BARRIER))
}

/// Whether the segment has no letter or digit outside the range. A code in several
/// table cells continues after its first segment.
fn is_alone(segment: &Segment, range: &Range<usize>) -> bool {
    segment.core.start >= range.start && segment.core.end <= range.end
}

#[cfg(test)]
impl Candidate {
    /// Digits of which nothing else is known.
    pub(super) fn example(value: &str) -> Self {
        Self {
            range: 0..value.len(),
            value: value.to_owned(),
            compact: value.to_owned(),
            shape: Shape::Digits,
            segment: 0,
            alone: false,
            numbered: false,
            audience: Audience::People,
            known: false,
            heading: None,
        }
    }
}
