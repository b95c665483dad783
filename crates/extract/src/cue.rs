//! Cues as features: what words say about a number or a link, whatever their language.

use crate::lexicon::{Hit, Sense};
use crate::model::{Collector, Kind};

/// How many cues there are.
pub(crate) const KINDS: usize = CUES.len();

/// The cues, with the letter that stands for each in a feature.
const CUES: &[(Sense, u8)] = &[
    (Sense::ASK, b'a'),
    (Sense::THING, b't'),
    (Sense::PROOF, b'p'),
    (Sense::PLACE, b'l'),
    (Sense::LIMIT, b'e'),
    (Sense::SECRET, b's'),
    (Sense::OTHER, b'o'),
    (Sense::PAST, b'x'),
];

/// All of them.
const ANY: Sense = {
    let (mut any, mut rest) = (Sense::ASK, CUES);
    while let [(cue, _), later @ ..] = rest {
        any = any.or(*cue);
        rest = later;
    }
    any
};

/// How often each cue occurs.
pub(crate) fn add_counts(kind: Kind, hits: &[Hit], features: &mut Collector) {
    for (count, (_, cue)) in counts(hits).into_iter().zip(CUES) {
        features.add_kind(kind.then_byte(*cue).then_number(count));
    }
}

/// Each cue of these hits, and which of them there are together.
pub(crate) fn add(kind: Kind, hits: &[Hit], features: &mut Collector) {
    let all = Hit::senses(hits);
    add_together(kind, all, features);
    let with = kind.then("with ");
    for letter in letters(all) {
        features.add_kind(with.then_byte(letter));
    }
}

/// Which cues there are together.
pub(crate) fn add_together(kind: Kind, sense: Sense, features: &mut Collector) {
    let together = letters(sense).fold(kind, Kind::then_byte);
    features.add_kind(together);
}

/// The cues before and after a candidate in their order.
pub(crate) fn add_path(before: &[Hit], after: &[Hit], features: &mut Collector) {
    let joined = |kind: Kind, hits: &[Hit]| {
        let senses = hits.iter().map(|hit| hit.sense);
        senses.fold(kind, |kind, sense| {
            letters(sense).fold(kind.then(" "), Kind::then_byte)
        })
    };
    let last = before
        .get(before.len().saturating_sub(1)..)
        .unwrap_or_default();
    let first = after.get(..after.len().min(1)).unwrap_or_default();
    let last_two = before
        .get(before.len().saturating_sub(2)..)
        .unwrap_or_default();
    features.add_kind(joined(const { Kind::of("cue path 3") }, before));
    features.add_kind(joined(const { Kind::of("cue path 2") }, last_two));
    features.add_kind(joined(const { Kind::of("cue path after") }, after));
    let around = joined(const { Kind::of("cue path around") }, last).then(" #");
    features.add_kind(joined(around, first));
}

/// The letters of the cues among these senses.
fn letters(sense: Sense) -> impl Iterator<Item = u8> {
    let cues = if sense.says(ANY) { CUES } else { &[] };
    let said = cues.iter().filter(move |(cue, _)| sense.says(*cue));
    said.map(|(_, letter)| *letter)
}

/// How often each cue occurs. More than so many times say no more.
pub(crate) fn counts(hits: &[Hit]) -> [i32; KINDS] {
    const MOST: i32 = 6;
    let mut counts = [0; KINDS];
    for hit in hits {
        for (count, (sense, _)) in counts.iter_mut().zip(CUES) {
            *count += i32::from(hit.sense.says(*sense));
        }
    }
    counts.map(|count| count.min(MOST))
}
