//! The terms around a candidate.

use std::cell::RefCell;
use std::ops::Range;

use super::candidate::Candidate;
use super::context::Context;
use super::gap::{Backward, Gap, Onward, Size, count_words};
use crate::lexicon::{Hit, Sense};

/// How many bytes a label may be away.
const REACH: usize = 240;
/// How many lines above a candidate may hold its label.
const LINES: usize = 3;
/// What names a code.
const LABEL: Sense = Sense::CODE.or(Sense::WORD);

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
    /// A colon or "is" comes directly before the candidate. Only asked of labels.
    pub(super) linked: bool,
    /// The text in between.
    pub(super) gap: Gap<'h>,
}

/// The terms around one candidate. What is between a term and the candidate is found out
/// once, because many rules ask for it.
pub(super) struct Around<'r> {
    pub(super) text: &'r str,
    context: &'r Context<'r>,
    before: Side<'r, Backward>,
    after: Side<'r, Onward>,
    /// The end of the heading of its column, whose terms count as those before it.
    heading: Option<usize>,
    /// The range of the candidate.
    own: Range<usize>,
}

/// The terms on one side, and what is known about those that are nearest.
struct Side<'r, M> {
    /// In the order of the text.
    hits: &'r [Hit],
    /// The senses of all of them.
    said: Sense,
    known: RefCell<Known<'r, M>>,
}

/// The nearest terms on a side, nearest first, and what measures the text up to the last
/// of them.
struct Known<'r, M> {
    nears: Vec<Near<'r>>,
    meter: M,
    /// Where the text that was measured ends.
    end: usize,
    /// Connecting words among these terms.
    connecting: usize,
    /// All of the text is ASCII.
    is_ascii: bool,
}

impl<'r, M: Default> Side<'r, M> {
    /// The terms in a range of places, on the side of the text that begins or ends at `end`.
    fn of(context: &'r Context<'r>, places: Range<usize>, end: usize) -> Self {
        let hits = context.hits.get(places).unwrap_or_default();
        let reach = hits.first().map_or(end, Hit::end).min(end)
            ..hits.last().map_or(end, Hit::start).max(end);
        let reach = context.text().as_bytes().get(reach);
        Self {
            hits,
            said: Hit::senses(hits),
            known: RefCell::new(Known {
                nears: Vec::with_capacity(hits.len().min(16)),
                meter: M::default(),
                end,
                connecting: 0,
                is_ascii: reach.is_some_and(<[u8]>::is_ascii),
            }),
        }
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
        let from = hits.partition_point(|hit| hit.start() < floor);
        let until = hits.partition_point(|hit| hit.end() <= end);
        let before = Side::of(context, from..until, end);
        let last = (candidate.segment + 1).min(segments.len().saturating_sub(1));
        let ceiling = segments
            .get(last)
            .map_or(context.text().len(), |segment| segment.range.end);
        let ceiling = ceiling.min(own.end + REACH);
        let from = hits.partition_point(|hit| hit.start() < own.end);
        let until = hits.partition_point(|hit| hit.end() <= ceiling);
        let after = Side::of(context, from..until, own.end);
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
        let end = self.heading.unwrap_or(self.own.start);
        self.charge(end - hit.end());
        let mut known = self.before.known.borrow_mut();
        let nearer = hits.len() - 1 - place;
        for hit in hits.iter().rev().take(nearer + 1).skip(known.nears.len()) {
            let text = self.bytes(hit.end()..known.end);
            known.end = hit.end();
            if known.is_ascii {
                known.meter.push(text);
            }
            let size = known.is_ascii.then(|| known.meter.size());
            self.know(hit, hit.end()..end, size, &mut known);
        }
        let near = known.nears.get(nearer).copied()?;
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
        self.charge(hit.start() - self.own.end);
        let mut known = self.after.known.borrow_mut();
        for hit in hits.iter().take(place + 1).skip(known.nears.len()) {
            let text = self.bytes(known.end..hit.start());
            known.end = hit.start();
            if known.is_ascii {
                known.meter.push(text);
            }
            let size = known.is_ascii.then(|| known.meter.size());
            self.know(hit, self.own.end..hit.start(), size, &mut known);
        }
        known.nears.get(place).copied()
    }

    /// Whether the sense occurs in the lines around the candidate.
    pub(super) fn says(&self, sense: Sense) -> bool {
        let is_said = self.before.said.or(self.after.said).says(sense);
        if is_said {
            // The terms are looked at, and no text between them.
            self.charge(0);
        }
        is_said
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

    /// The steps of measuring a gap, which everybody who asks for it is charged.
    fn charge(&self, gap: usize) {
        self.context.steps.charge(40 + 6 * gap);
    }

    fn bytes(&self, range: Range<usize>) -> &'r [u8] {
        self.text.as_bytes().get(range).unwrap_or_default()
    }

    /// Keeps what is known about the next term of a side.
    fn know<M>(
        &self,
        hit: &'r Hit,
        gap: Range<usize>,
        size: Option<Size>,
        known: &mut Known<'r, M>,
    ) {
        let text = Gap::new(self.text.get(gap.clone()).unwrap_or_default());
        let size = size.unwrap_or_else(|| text.size());
        known.nears.push(Near {
            hit,
            words: size.words.saturating_sub(known.connecting),
            stops: size.stops,
            lines: size.lines.min(9),
            connected: known.connecting > 0,
            linked: hit.sense.says(LABEL) && self.is_linked(&gap),
            gap: text,
        });
        if hit.sense.says(Sense::COPULA) {
            known.connecting += count_words(self.text.get(hit.range()).unwrap_or_default());
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
}
