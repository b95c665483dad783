//! What stands around a candidate.

use std::ops::Range;

use super::candidate::Candidate;
use super::segment::Segment;
use crate::lexicon::{Hit, Sense};

/// How far back and forth a label may stand, in bytes.
const REACH: usize = 240;
/// How many lines above a candidate may label it.
const LINES: usize = 3;

/// A term and what lies between it and the candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near<'h> {
    pub(super) hit: &'h Hit,
    /// Words between, those that only connect not counted.
    pub(super) words: usize,
    /// Sentences that end in between.
    pub(super) stops: usize,
    /// Lines that end in between.
    pub(super) lines: usize,
    /// A connecting word stands in between.
    pub(super) connected: bool,
    /// A colon or "is" stands directly before the candidate.
    pub(super) linked: bool,
    /// What stands in between.
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

/// The text, its lines and its terms.
#[derive(Clone, Copy)]
pub(super) struct Context<'r> {
    pub(super) text: &'r str,
    pub(super) segments: &'r [Segment],
    pub(super) hits: &'r [Hit],
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
            .partition_point(|hit| hit.range.end <= candidate.range.start);
        let within = self
            .hits
            .get(..end)?
            .iter()
            .rev()
            .take_while(|hit| hit.range.start >= floor);
        let hit = within.into_iter().find(|hit| hit.sense.says(sense))?;
        Some(self.near(hit, hit.range.end..candidate.range.start))
    }

    /// The last term of the sense in the cell that heads a column.
    fn within(&self, heading: &Range<usize>, sense: Sense) -> Option<Near<'r>> {
        let end = self
            .hits
            .partition_point(|hit| hit.range.end <= heading.end);
        let hit = self
            .hits
            .get(..end)?
            .iter()
            .rev()
            .take_while(|hit| hit.range.start >= heading.start)
            .find(|hit| hit.sense.says(sense))?;
        Some(Near {
            lines: 1,
            linked: true,
            ..self.near(hit, hit.range.end..heading.end)
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
            .partition_point(|hit| hit.range.start < candidate.range.end);
        let within = self
            .hits
            .get(start..)?
            .iter()
            .take_while(|hit| hit.range.end <= ceiling);
        let hit = within.into_iter().find(|hit| hit.sense.says(sense))?;
        Some(self.near(hit, candidate.range.end..hit.range.start))
    }

    /// "Enter the code below on this page": a code is asked for in the line, and
    /// what else is named there only says where it goes.
    pub(super) fn is_asked_for(&self, near: Near<'_>) -> bool {
        let end = near.hit.range.end;
        let line = self
            .text
            .get(..end)
            .and_then(|before| before.rfind('\n'))
            .unwrap_or(0);
        let until = self.hits.partition_point(|hit| hit.range.end <= end);
        let mut earlier = self
            .hits
            .get(..until)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(|hit| hit.range.start >= line);
        earlier.any(|hit| hit.sense.says(Sense::CODE.or(Sense::WORD)))
            && earlier.any(|hit| hit.sense.says(Sense::ENTER))
    }

    /// Whether a term of the sense stands directly before the hit.
    pub(super) fn follows(&self, hit: &Hit, sense: Sense) -> bool {
        let before = self
            .hits
            .partition_point(|other| other.range.end <= hit.range.start)
            .checked_sub(1)
            .and_then(|at| self.hits.get(at));
        before.is_some_and(|before| {
            let gap = self.text.get(before.range.end..hit.range.start);
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
        let at = self.hits.partition_point(|hit| hit.range.end < end);
        self.hits
            .get(at)
            .is_some_and(|hit| hit.range.end == end && hit.sense.says(Sense::IS))
    }

    /// How many words in the range only connect.
    fn connecting(&self, gap: &Range<usize>) -> usize {
        let from = self.hits.partition_point(|hit| hit.range.start < gap.start);
        let within = self
            .hits
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|hit| hit.range.end <= gap.end);
        within
            .filter(|hit| hit.sense.says(Sense::COPULA))
            .map(|hit| count_words(self.text.get(hit.range.clone()).unwrap_or_default()))
            .sum()
    }
}

/// Words by blanks, and for scripts without blanks by every third letter.
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

/// Ends of sentences: a stop, a blank and the start of another, or a full-width
/// stop. After an abbreviation follows a digit or a small letter.
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
