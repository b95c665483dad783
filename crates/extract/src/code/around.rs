//! The terms around a candidate.

use std::cell::RefCell;
use std::ops::Range;

use super::candidate::Candidate;
use super::context::Context;
use super::gap::{Gap, count_words};
use crate::lexicon::{Hit, Sense};

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

/// The terms around one candidate. What is between a term and the candidate is found out
/// once, because many rules ask for it.
pub(super) struct Around<'r> {
    pub(super) text: &'r str,
    context: &'r Context<'r>,
    before: Side<'r>,
    after: Side<'r>,
    /// The end of the heading of its column, whose terms count as those before it.
    heading: Option<usize>,
    /// The range of the candidate.
    own: Range<usize>,
}

/// The terms on one side, in order.
struct Side<'r> {
    hits: &'r [Hit],
    /// The senses of all of them.
    said: Sense,
    /// What is known about some of them, by their place.
    known: RefCell<Vec<(usize, Near<'r>)>>,
}

impl<'r> Side<'r> {
    fn of(hits: &'r [Hit], from: usize, until: usize) -> Self {
        let hits = hits.get(from..until).unwrap_or_default();
        Self {
            hits,
            said: Hit::senses(hits),
            known: RefCell::new(Vec::new()),
        }
    }

    fn near(&self, place: usize, measure: impl FnOnce() -> Near<'r>) -> Near<'r> {
        let mut known = self.known.borrow_mut();
        if let Some((_, near)) = known.iter().find(|(other, _)| *other == place) {
            return *near;
        }
        let near = measure();
        known.push((place, near));
        near
    }
}

impl<'r> Around<'r> {
    pub(super) fn of(candidate: &Candidate, context: &'r Context<'r>) -> Self {
        let (hits, segments) = (context.hits.as_slice(), context.segments.as_slice());
        let own = candidate.range.clone();
        let (floor, end) = if let Some(heading) = &candidate.heading {
            (heading.start, heading.end)
        } else {
            let first = segments.get(candidate.segment.saturating_sub(LINES));
            let first = first.map_or(0, |segment| segment.range.start);
            (first.max(own.start.saturating_sub(REACH)), own.start)
        };
        let before = Side::of(
            hits,
            hits.partition_point(|hit| hit.start() < floor),
            hits.partition_point(|hit| hit.end() <= end),
        );
        let last = (candidate.segment + 1).min(segments.len().saturating_sub(1));
        let ceiling = segments
            .get(last)
            .map_or(context.text().len(), |segment| segment.range.end);
        let ceiling = ceiling.min(own.end + REACH);
        let after = Side::of(
            hits,
            hits.partition_point(|hit| hit.start() < own.end),
            hits.partition_point(|hit| hit.end() <= ceiling),
        );
        Self {
            text: context.text(),
            context,
            before,
            after,
            heading: candidate.heading.as_ref().map(|heading| heading.end),
            own,
        }
    }

    /// The nearest term of the sense before the candidate, or the last one in the heading
    /// of its column.
    pub(super) fn before(&self, sense: Sense) -> Option<Near<'r>> {
        if !self.before.said.says(sense) {
            return None;
        }
        let hits = self.before.hits;
        let place = hits.iter().rposition(|hit| hit.sense.says(sense))?;
        let hit = hits.get(place)?;
        let gap = hit.end()..self.heading.unwrap_or(self.own.start);
        self.charge(&gap);
        let between = hits.get(place + 1..).unwrap_or_default();
        let near = self.before.near(place, || self.near(hit, gap, between));
        // A heading is the line above, and the cell is what it names.
        let lines = self.heading.map_or(near.lines, |_| 1);
        let linked = self.heading.is_some() || near.linked;
        Some(Near {
            lines,
            linked,
            ..near
        })
    }

    /// The nearest term of the sense after the candidate.
    pub(super) fn after(&self, sense: Sense) -> Option<Near<'r>> {
        if !self.after.said.says(sense) {
            return None;
        }
        let hits = self.after.hits;
        let place = hits.iter().position(|hit| hit.sense.says(sense))?;
        let hit = hits.get(place)?;
        let gap = self.own.end..hit.start();
        self.charge(&gap);
        let between = hits.get(..place).unwrap_or_default();
        Some(self.after.near(place, || self.near(hit, gap, between)))
    }

    /// Whether the sense occurs in the lines around the candidate.
    pub(super) fn says(&self, sense: Sense) -> bool {
        self.before(sense).is_some() || self.after(sense).is_some()
    }

    /// Whether the sense occurs in the sentence of the candidate.
    pub(super) fn says_in_sentence(&self, sense: Sense) -> bool {
        let same =
            |near: Option<Near<'_>>| near.is_some_and(|near| near.stops == 0 && near.lines == 0);
        same(self.before(sense)) || same(self.after(sense))
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
        let hits = &self.context.hits;
        let until = hits.partition_point(|hit| hit.end() <= end);
        let mut earlier = hits
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
        let hits = &self.context.hits;
        let before = hits
            .partition_point(|other| other.end() <= hit.start())
            .checked_sub(1)
            .and_then(|at| hits.get(at));
        before.is_some_and(|before| {
            let gap = self.text.get(before.end()..hit.start());
            before.sense.says(sense) && matches!(gap, Some("" | " " | "-"))
        })
    }

    /// The first term of the sense that begins at an offset or after it.
    pub(super) fn next(&self, from: usize, sense: Sense) -> Option<&'r Hit> {
        let hits = &self.context.hits;
        let at = hits.partition_point(|hit| hit.start() < from);
        let mut later = hits.get(at..)?.iter();
        later.find(|hit| hit.sense.says(sense))
    }

    fn charge(&self, gap: &Range<usize>) {
        self.context.steps.charge(40 + 6 * gap.len());
    }

    /// Measures the text between a term and the candidate, which holds the terms `between`.
    fn near(&self, hit: &'r Hit, gap: Range<usize>, between: &[Hit]) -> Near<'r> {
        let text = Gap::new(self.text.get(gap.clone()).unwrap_or_default());
        let size = text.size();
        let connecting = self.connecting(between);
        Near {
            hit,
            words: size.words.saturating_sub(connecting),
            stops: size.stops,
            lines: size.lines.min(9),
            connected: connecting > 0,
            linked: self.is_linked(&gap),
            gap: text,
        }
    }

    fn is_linked(&self, gap: &Range<usize>) -> bool {
        let text = self.text.get(gap.clone()).unwrap_or_default();
        let opening = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '[' | '*' | '<' | '-' | '«' | '【')
        };
        let before = text.trim_end_matches(opening);
        if before.ends_with([':', '=']) {
            return true;
        }
        let end = gap.start + before.len();
        let hits = &self.context.hits;
        let at = hits.partition_point(|hit| hit.end() < end);
        hits.get(at)
            .is_some_and(|hit| hit.end() == end && hit.sense.says(Sense::IS))
    }

    /// How many connecting words there are.
    fn connecting(&self, between: &[Hit]) -> usize {
        let within = between.iter().filter(|hit| hit.sense.says(Sense::COPULA));
        within
            .map(|hit| count_words(self.text.get(hit.range()).unwrap_or_default()))
            .sum()
    }
}
