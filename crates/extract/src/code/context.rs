//! The text around a candidate.

use std::ops::Range;

use super::candidate::Candidate;
use super::segment::Segment;
use crate::lexicon::{Hit, Sense};
use crate::steps::Steps;

/// How many bytes a label may be away.
const REACH: usize = 240;
/// How many lines above a candidate may hold its label.
const LINES: usize = 3;

/// A term near a candidate, and the text between the two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near<'h> {
    pub(super) hit: &'h Hit,
    /// Words in between, without connecting words.
    pub(super) words: usize,
    /// Sentences that end in between.
    pub(super) stops: usize,
    /// Lines that end in between.
    pub(super) lines: usize,
    /// A connecting word is in between.
    pub(super) connected: bool,
    /// A colon or "is" comes directly before the candidate.
    pub(super) linked: bool,
    /// The text in between.
    pub(super) gap: Gap<'h>,
}

/// The text between a term and a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap<'h>(&'h str);

impl Gap<'_> {
    pub(super) fn has_digits(self) -> bool {
        self.0.bytes().any(|byte| byte.is_ascii_digit())
    }

    pub(super) fn is_blank(self) -> bool {
        self.0 == " "
    }

    pub(super) fn has(self, sign: char) -> bool {
        self.0.contains(sign)
    }
}

/// The senses of all terms in a mail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MailContext {
    pub(super) subject: Sense,
    pub(super) body: Sense,
}

/// A text with its lines and its terms.
#[derive(Clone, Copy)]
pub(super) struct Context<'r> {
    pub(super) text: &'r str,
    pub(super) segments: &'r [Segment],
    pub(super) hits: &'r [Hit],
    pub(super) steps: &'r Steps<'r>,
}

impl<'r> Context<'r> {
    /// The nearest term of the sense before the candidate.
    pub(super) fn before(&self, candidate: &Candidate, sense: Sense) -> Option<Near<'r>> {
        if let Some(heading) = &candidate.heading {
            return self.within(heading, sense);
        }
        let first = candidate.segment.saturating_sub(LINES);
        let floor = self
            .segments
            .get(first)
            .map_or(0, |segment| segment.range.start);
        let floor = floor.max(candidate.range.start.saturating_sub(REACH));
        let end = self
            .hits
            .partition_point(|hit| hit.end() <= candidate.range.start);
        let within = self
            .hits
            .get(..end)?
            .iter()
            .rev()
            .take_while(|hit| hit.start() >= floor);
        let hit = within.into_iter().find(|hit| hit.sense.says(sense))?;
        Some(self.near(hit, hit.end()..candidate.range.start))
    }

    /// The last term of the sense in the heading of a column.
    fn within(&self, heading: &Range<usize>, sense: Sense) -> Option<Near<'r>> {
        let end = self.hits.partition_point(|hit| hit.end() <= heading.end);
        let hit = self
            .hits
            .get(..end)?
            .iter()
            .rev()
            .take_while(|hit| hit.start() >= heading.start)
            .find(|hit| hit.sense.says(sense))?;
        Some(Near {
            lines: 1,
            linked: true,
            ..self.near(hit, hit.end()..heading.end)
        })
    }

    /// The nearest term of the sense after the candidate.
    pub(super) fn after(&self, candidate: &Candidate, sense: Sense) -> Option<Near<'r>> {
        let last = (candidate.segment + 1).min(self.segments.len().saturating_sub(1));
        let ceiling = self
            .segments
            .get(last)
            .map_or(self.text.len(), |segment| segment.range.end);
        let ceiling = ceiling.min(candidate.range.end + REACH);
        let start = self
            .hits
            .partition_point(|hit| hit.start() < candidate.range.end);
        let within = self
            .hits
            .get(start..)?
            .iter()
            .take_while(|hit| hit.end() <= ceiling);
        let hit = within.into_iter().find(|hit| hit.sense.says(sense))?;
        Some(self.near(hit, candidate.range.end..hit.start()))
    }

    /// "Enter the code below on this page": whether the line asks for a code. Then
    /// other terms in the line only say where to enter it.
    pub(super) fn is_asked_for(&self, near: Near<'_>) -> bool {
        let end = near.hit.end();
        let reach = self.text.ceil_char_boundary(end.saturating_sub(2 * REACH));
        let line = self
            .text
            .get(reach..end)
            .and_then(|before| before.rfind('\n'))
            .map_or(reach, |at| reach + at);
        let until = self.hits.partition_point(|hit| hit.end() <= end);
        let mut earlier = self
            .hits
            .get(..until)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(|hit| hit.start() >= line);
        earlier.any(|hit| hit.sense.says(Sense::CODE.or(Sense::WORD)))
            && earlier.any(|hit| hit.sense.says(Sense::ENTER))
    }

    /// Whether a term of the sense comes directly before the hit.
    pub(super) fn follows(&self, hit: &Hit, sense: Sense) -> bool {
        let before = self
            .hits
            .partition_point(|other| other.end() <= hit.start())
            .checked_sub(1)
            .and_then(|at| self.hits.get(at));
        before.is_some_and(|before| {
            let gap = self.text.get(before.end()..hit.start());
            before.sense.says(sense) && matches!(gap, Some("" | " " | "-"))
        })
    }

    /// Whether the sense occurs in the lines around the candidate.
    pub(super) fn around(&self, candidate: &Candidate, sense: Sense) -> bool {
        self.before(candidate, sense).is_some() || self.after(candidate, sense).is_some()
    }

    /// Whether the sense occurs in the sentence of the candidate.
    pub(super) fn in_sentence(&self, candidate: &Candidate, sense: Sense) -> bool {
        let same =
            |near: Option<Near<'_>>| near.is_some_and(|near| near.stops == 0 && near.lines == 0);
        same(self.before(candidate, sense)) || same(self.after(candidate, sense))
    }

    fn near(&self, hit: &'r Hit, gap: Range<usize>) -> Near<'r> {
        self.steps.charge(40 + 6 * gap.len());
        let text = self.text.get(gap.clone()).unwrap_or_default();
        let lines = text.bytes().filter(|byte| matches!(byte, b'\n')).count();
        let connecting = self.connecting(&gap);
        let words = count_words(text).saturating_sub(connecting);
        let linked = self.is_linked(&gap);
        Near {
            hit,
            words,
            stops: stops(text),
            lines: lines.min(9),
            connected: connecting > 0,
            linked,
            gap: Gap(text),
        }
    }

    fn is_linked(&self, gap: &Range<usize>) -> bool {
        let text = self.text.get(gap.clone()).unwrap_or_default();
        let opening = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '[' | '*' | '<' | '-' | '«' | '【')
        };
        let end = gap.start + text.trim_end_matches(opening).len();
        if text
            .get(..end - gap.start)
            .is_some_and(|before| before.ends_with([':', '=']))
        {
            return true;
        }
        let at = self.hits.partition_point(|hit| hit.end() < end);
        self.hits
            .get(at)
            .is_some_and(|hit| hit.end() == end && hit.sense.says(Sense::IS))
    }

    /// How many connecting words are in the range.
    fn connecting(&self, gap: &Range<usize>) -> usize {
        let from = self.hits.partition_point(|hit| hit.start() < gap.start);
        let within = self
            .hits
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|hit| hit.end() <= gap.end);
        within
            .filter(|hit| hit.sense.says(Sense::COPULA))
            .map(|hit| count_words(self.text.get(hit.range()).unwrap_or_default()))
            .sum()
    }
}

/// The number of words. Scripts without spaces count about four letters as a word.
fn count_words(text: &str) -> usize {
    let spaced = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty());
    spaced
        .map(|word| {
            let letters = word.chars().filter(|c| u32::from(*c) >= 0xe00).count();
            if letters > 3 { letters.div_ceil(4) } else { 1 }
        })
        .sum()
}

/// The number of sentence ends: a full-width stop, or a stop, a space and a capital.
/// A digit or a small letter follows an abbreviation.
fn stops(text: &str) -> usize {
    let mut count = 0;
    let mut ended = false;
    let mut previous = ' ';
    for c in text.chars() {
        if matches!(c, '。' | '！' | '？' | '।' | '؟' | '۔' | '։') {
            count += 1;
            ended = false;
        } else if c.is_whitespace() {
            ended |= matches!(previous, '.' | '!' | '?');
        } else {
            count += usize::from(
                ended && (c.is_ascii_uppercase() || !c.is_ascii() && c.is_alphabetic()),
            );
            ended = false;
        }
        previous = c;
    }
    count + usize::from(ended || matches!(previous, '.' | '!' | '?'))
}
