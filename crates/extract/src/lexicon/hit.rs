//! A term found in a text.

use std::ops::Range;

use super::Sense;
use super::concept::CONCEPTS;

/// A term found in a text. It is small, because a text may hold one at every byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    start: u32,
    end: u32,
    /// The place of the term in its lexicon.
    pub(super) term: u32,
    pub(crate) sense: Sense,
}

impl Hit {
    /// Nothing for a place that is beyond any text that is searched.
    pub(super) fn new(range: &Range<usize>, term: u32, sense: Sense) -> Option<Self> {
        Some(Self {
            start: u32::try_from(range.start).ok()?,
            end: u32::try_from(range.end).ok()?,
            term,
            sense,
        })
    }

    /// The same hit in a text that begins so many bytes later.
    pub(super) fn before(&self, bytes: usize) -> Option<Self> {
        let bytes = u32::try_from(bytes).ok()?;
        Some(Self {
            start: self.start.checked_sub(bytes)?,
            end: self.end.checked_sub(bytes)?,
            ..*self
        })
    }

    /// The same hit in a text that has so many more bytes before it.
    pub(super) fn after(&self, bytes: usize) -> Option<Self> {
        let bytes = u32::try_from(bytes).ok()?;
        Some(Self {
            start: self.start.checked_add(bytes)?,
            end: self.end.checked_add(bytes)?,
            ..*self
        })
    }

    /// The senses of all these terms.
    pub(crate) fn senses(hits: &[Self]) -> Sense {
        let senses = hits.iter().map(|hit| hit.sense);
        senses.fold(Sense::default(), Sense::or)
    }

    /// The numbers of the concepts that the term stands for. Those that are missing are 0.
    pub(crate) fn numbers(&self) -> [u8; 8] {
        self.sense.0.to_le_bytes()
    }

    /// The hit of a concept as the cue that it is.
    pub(crate) fn as_cue(&self) -> Option<Self> {
        let cue = |number: u8| CONCEPTS.get(usize::from(number)).map(|(_, cue)| *cue);
        let numbers = self.numbers().into_iter();
        let cues = numbers.take_while(|number| *number != 0).filter_map(cue);
        let sense = cues.fold(Sense::default(), Sense::or);
        (sense != Sense::default()).then_some(Self { sense, ..*self })
    }

    /// Whether a concept of the term is more than a thing, a place or a number.
    pub(crate) fn says_more_than_a_thing(&self) -> bool {
        const THINGS: [&str; 7] = [
            "address", "counted", "meter", "product", "seat", "trip", "venue",
        ];
        let numbers = self.numbers();
        let mut numbers = numbers.iter().take_while(|number| **number != 0);
        numbers.any(|number| {
            let concept = CONCEPTS.get(usize::from(*number));
            concept.is_none_or(|(name, _)| !THINGS.contains(name))
        })
    }

    pub(crate) fn start(&self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(&self) -> usize {
        self.end as usize
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.start()..self.end()
    }
}
