//! Candidates with the same surroundings: a code stands in the text and in the HTML of a mail,
//! and rows of a table say the same of each number. What such candidates have in common is
//! found out once.

use super::stream::Item;
use crate::model::{Collector, Features};

/// So many candidates are remembered.
const MOST: usize = 16;

/// What is said around a candidate.
#[derive(Clone, Copy)]
pub(super) struct Said<'m> {
    /// The items before and after it.
    pub(super) items: (&'m [Item], &'m [Item]),
    /// The words before and after it in its line.
    pub(super) words: (&'m str, &'m str),
}

/// The candidates so far.
#[derive(Default)]
pub(super) struct Twins<'m>(Vec<(Said<'m>, Features)>);

impl Said<'_> {
    fn has_items_of(&self, other: &Self) -> bool {
        let ((before, after), (left, right)) = (self.items, other.items);
        let are_same = |(one, other): (&Item, &Item)| one.is_like(other);
        before.len() == left.len()
            && after.len() == right.len()
            && before.iter().rev().zip(left.iter().rev()).all(are_same)
            && after.iter().zip(right).all(are_same)
    }
}

impl<'m> Twins<'m> {
    /// Adds a part of the features that comes from the items, as a twin has it. Returns whether
    /// there is one. The parts before must be the same, because each feature counts once.
    pub(super) fn add_items(&self, said: &Said<'m>, features: &mut Collector) -> bool {
        let mut known = self.0.iter();
        known.any(|(other, twin)| said.has_items_of(other) && features.add_part_of(twin))
    }

    /// The same for the words.
    pub(super) fn add_words(&self, said: &Said<'m>, features: &mut Collector) -> bool {
        let mut known = self.0.iter();
        known.any(|(other, twin)| said.words == other.words && features.add_part_of(twin))
    }

    /// Remembers a candidate.
    pub(super) fn keep(&mut self, said: Said<'m>, features: &Features) {
        if self.0.len() < MOST {
            self.0.push((said, features.clone()));
        }
    }
}
