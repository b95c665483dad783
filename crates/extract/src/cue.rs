//! Cues as features: what the words of any language say about a number or a link.

use crate::lexicon::{Hit, Sense};
use crate::model::{Collector, Kind};

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

/// How often each cue occurs.
pub(crate) fn add_counts(kind: Kind, hits: &[Hit], features: &mut Collector) {
    for (sense, cue) in CUES {
        let said = hits.iter().filter(|hit| hit.sense.says(*sense));
        let count = said.take(6).count();
        let digit = u8::try_from(count).map_or(b'6', |count| b'0' + count);
        features.add_kind(kind.then_byte(*cue).then_byte(digit));
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

/// The letters of the cues among these senses.
fn letters(sense: Sense) -> impl Iterator<Item = u8> {
    let said = CUES.iter().filter(move |(cue, _)| sense.says(*cue));
    said.map(|(_, letter)| *letter)
}
