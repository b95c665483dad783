//! What the words around a candidate stand for, whatever their language, as features.

use super::stream::{Item, around};
use crate::model::{Collector, Kind};

/// How many items before and after a candidate are looked at.
const BEFORE: usize = 40;
const AFTER: usize = 30;
/// How many terms of a sentence are combined with each other.
const COMBINED: usize = 8;
/// How many terms beyond the sentence count.
const BEYOND: usize = 10;

/// The concepts of a whole text.
pub(super) fn of_text(kind: Kind, items: &[Item], features: &mut Collector) {
    for number in items.iter().flat_map(Item::concepts) {
        features.add_kind(kind.then_byte(*number));
    }
}

/// The terms around a candidate, nearest first.
struct Surroundings<'i> {
    left: Vec<&'i Item>,
    right: Vec<&'i Item>,
    /// In the sentences before its own one.
    earlier: Vec<&'i Item>,
    /// In the nearest sentence before that has terms.
    previous: Vec<&'i Item>,
    later: Vec<&'i Item>,
    next: Vec<&'i Item>,
}

impl<'i> Surroundings<'i> {
    fn of(before: &'i [Item], after: &'i [Item]) -> Self {
        let (left, earlier, previous) = side(before.iter().rev());
        let (right, later, next) = side(after.iter());
        Self {
            left,
            right,
            earlier,
            previous,
            later,
            next,
        }
    }

    /// Its sentence says nothing else.
    fn is_alone(&self) -> bool {
        self.left.is_empty() && self.right.is_empty()
    }
}

/// The terms of one side: those of the sentence, those beyond it, and those of the first
/// sentence beyond it that has some.
fn side<'i>(
    items: impl Iterator<Item = &'i Item>,
) -> (Vec<&'i Item>, Vec<&'i Item>, Vec<&'i Item>) {
    let mut own = Vec::with_capacity(BEFORE);
    let (mut beyond, mut neighbour) = (Vec::with_capacity(BEYOND), Vec::with_capacity(BEFORE));
    let (mut is_own, mut is_neighbour) = (true, true);
    for item in items {
        if item.is_end() {
            is_neighbour &= neighbour.is_empty();
            is_own = false;
        } else if item.is_term() && is_own {
            own.push(item);
        } else if item.is_term() {
            if is_neighbour {
                neighbour.push(item);
            }
            if beyond.len() < BEYOND {
                beyond.push(item);
            }
        }
    }
    (own, beyond, neighbour)
}

/// The items around a candidate, as far as they are looked at.
pub(super) fn near<'i>(
    own: &std::ops::Range<usize>,
    items: &'i [Item],
) -> (&'i [Item], &'i [Item]) {
    let (before, after) = around(items, own);
    let from = before.len().saturating_sub(BEFORE);
    (
        before.get(from..).unwrap_or_default(),
        after.get(..AFTER).unwrap_or(after),
    )
}

/// The concepts of the sentence of a candidate, and of the sentences around.
pub(super) fn of_candidate((before, after): (&[Item], &[Item]), features: &mut Collector) {
    let terms = Surroundings::of(before, after);
    let [earlier, later, _] = side_kinds(terms.is_alone());
    for (kind, side) in [
        (const { Kind::of("concept left") }, &terms.left),
        (const { Kind::of("concept right") }, &terms.right),
        (earlier, &terms.earlier),
        (later, &terms.later),
    ] {
        for number in side.iter().flat_map(|item| item.concepts()) {
            features.add_kind(kind.then_byte(*number));
        }
        nearest(kind, side, features);
    }
    if let (Some(last), Some(first)) = (terms.left.first(), terms.right.first()) {
        pair(const { Kind::of("concept around") }, last, first, features);
    }
    paths(before, after, features);
    within_sentence(&terms, features);
    between_sentences(&terms, features);
}

/// The kinds of concepts in other sentences, which say whether the own one says nothing else.
fn side_kinds(is_alone: bool) -> [Kind; 3] {
    const fn named(alone: &str) -> [Kind; 3] {
        [
            Kind::of_two(alone, "concept earlier"),
            Kind::of_two(alone, "concept later"),
            Kind::of_two(alone, "concept previous"),
        ]
    }
    if is_alone {
        const { named("alone ") }
    } else {
        const { named("") }
    }
}

/// The two nearest concepts.
fn nearest(kind: Kind, side: &[&Item], features: &mut Collector) {
    let Some(first) = side.first() else {
        features.add_kind(kind.then("none"));
        return;
    };
    for number in first.concepts() {
        features.add_kind(kind.then("first").then_byte(*number));
    }
    if let Some(second) = side.get(1) {
        for number in second.concepts() {
            features.add_kind(kind.then("second").then_byte(*number));
        }
        pair(kind.then("two"), first, second, features);
    }
}

/// The nearest items of the sentence in their order, with words of no concept and signs.
fn paths(before: &[Item], after: &[Item], features: &mut Collector) {
    let left = before.iter().rev().take_while(|item| !item.is_end());
    let right = after.iter().take_while(|item| !item.is_end());
    let path = |kind: Kind, items: &mut dyn Iterator<Item = &Item>| {
        items.fold(kind, |kind, item| kind.then_byte(item.number()))
    };
    let two = path(const { Kind::of("path") }, &mut left.clone().take(2));
    let one = path(const { Kind::of("path") }, &mut left.clone().take(1));
    features.add_kind(two);
    features.add_kind(path(two, &mut left.skip(2).take(1)).then("three"));
    features.add_kind(path(
        const { Kind::of("path after") },
        &mut right.clone().take(2),
    ));
    features.add_kind(path(two.then("#"), &mut right.clone().take(1)));
    features.add_kind(path(one.then("#"), &mut right.take(1)));
}

/// Which concepts are together in the sentence, and on which side.
fn within_sentence(terms: &Surroundings<'_>, features: &mut Collector) {
    let left = || terms.left.iter().take(COMBINED);
    let right = || terms.right.iter().take(COMBINED / 2 + 1);
    let (before, across) = (
        const { Kind::of("concept before") },
        const { Kind::of("concept across") },
    );
    let both = const { Kind::of("concept both") };
    for (at, one) in left().enumerate() {
        for other in left().skip(at + 1) {
            pair(before, one, other, features);
            pair(both, other, one, features);
        }
        for other in right() {
            pair(across, one, other, features);
            pair(both, one, other, features);
        }
    }
    for (at, one) in right().enumerate() {
        for other in right().skip(at + 1) {
            pair(both, one, other, features);
        }
    }
}

/// Which concepts the sentence before has, together and with those of the own sentence.
fn between_sentences(terms: &Surroundings<'_>, features: &mut Collector) {
    let previous = || terms.previous.iter().take(COMBINED - 1);
    let [_, _, together] = side_kinds(terms.is_alone());
    let (with_own, with_next) = (
        const { Kind::of("concept own") },
        const { Kind::of("concept next") },
    );
    for (at, one) in previous().enumerate() {
        for other in previous().skip(at + 1) {
            pair(together, one, other, features);
        }
        for own in terms.left.iter().chain(&terms.right).take(COMBINED - 2) {
            pair(with_own, own, one, features);
        }
        if terms.is_alone() && at < COMBINED / 2 {
            for next in terms.next.iter().take(COMBINED / 2) {
                pair(with_next, one, next, features);
            }
        }
    }
}

fn pair(kind: Kind, one: &Item, other: &Item, features: &mut Collector) {
    for first in one.concepts() {
        let kind = kind.then_byte(*first);
        for second in other.concepts() {
            features.add_kind(kind.then_byte(*second));
        }
    }
}
