//! Cues as features: what the words of any language say about a number or a link.

use crate::lexicon::{Hit, Sense};
use crate::model::Features;

/// The cues, with the letter that stands for each in a feature.
const CUES: &[(Sense, char)] = &[
    (Sense::ASK, 'a'),
    (Sense::THING, 't'),
    (Sense::PROOF, 'p'),
    (Sense::PLACE, 'l'),
    (Sense::LIMIT, 'e'),
    (Sense::SECRET, 's'),
    (Sense::OTHER, 'o'),
    (Sense::PAST, 'x'),
];

/// How many bytes of a text are searched for cues. A code or a link that comes later is
/// decided without them.
const EXAMINED: usize = 32 * 1024;

/// The part of a text that is searched for cues.
pub(crate) fn examined(text: &str) -> &str {
    let end = text.floor_char_boundary(EXAMINED);
    text.get(..end).unwrap_or_default()
}

/// How often each cue occurs.
pub(crate) fn add_counts(kind: &str, hits: &[Hit], features: &mut Features) {
    for (sense, cue) in CUES {
        let count = hits.iter().filter(|hit| hit.sense.says(*sense)).count();
        features.add(kind, &format!("{cue}{}", count.min(6)));
    }
}

/// Each cue of these hits, and which of them there are together.
pub(crate) fn add(kind: &str, hits: &[Hit], features: &mut Features) {
    let all = hits
        .iter()
        .fold(Sense::default(), |all, hit| all.or(hit.sense));
    let all = letters(all);
    features.add(kind, &all);
    for cue in all.chars() {
        features.add(kind, &format!("with {cue}"));
    }
}

/// The letters of the cues among these senses.
pub(crate) fn letters(sense: Sense) -> String {
    let said = CUES.iter().filter(|(cue, _)| sense.says(*cue));
    said.map(|(_, letter)| *letter).collect()
}
