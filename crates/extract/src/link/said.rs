//! What the words around a link say, as features: the senses of terms about links.

use super::classify::Words;
use crate::lexicon::Sense;
use crate::model::{Collector, Kind};

/// The senses, with the letter that stands for each in a feature.
const SENSES: &[(Sense, u8)] = &[
    (Sense::VERIFY, b'v'),
    (Sense::LOGIN, b'l'),
    (Sense::RESET, b'r'),
    (Sense::INVITE, b'i'),
    (Sense::CHANGE, b'c'),
    (Sense::APPROVE, b'a'),
    (Sense::DENY, b'n'),
    (Sense::DELETE, b'd'),
    (Sense::LEAVE, b'u'),
    (Sense::PAGE, b'p'),
    (Sense::CLICK, b'k'),
    (Sense::NOT_ME, b'm'),
    (Sense::AGREE, b'A'),
    (Sense::GO_IN, b'E'),
    (Sense::CHOOSE, b'C'),
    (Sense::JOIN, b'J'),
    (Sense::REFUSE, b'R'),
    (Sense::REMOVE, b'D'),
    (Sense::QUIT, b'L'),
    (Sense::SHOW, b'S'),
    (Sense::AGAIN, b'G'),
    (Sense::POINT, b'P'),
    (Sense::ASKED, b'Q'),
    (Sense::ALARM, b'M'),
];

/// What the terms and the cues at one place say: each sense, and which there are together.
pub(super) fn add(place: &str, terms: Sense, cues: Sense, features: &mut Collector) {
    for (name, sense) in [("said ", terms), ("cued ", cues)] {
        let kind = Kind::of(name).then(place);
        for letter in letters(sense) {
            features.add_kind(kind.then_byte(letter));
        }
        features.add_kind(letters(sense).fold(kind.then("all "), Kind::then_byte));
    }
}

/// What several places say together. `address` is what the terms and the cues of the URL say.
pub(super) fn add_together(said: &Words, address: (Sense, Sense), features: &mut Collector) {
    let around = said.sentence.or(said.above);
    let cues_around = said.cues.sentence.or(said.cues.above);
    for (name, places) in [
        ("said both ", [said.label, around, address.0]),
        ("said after both ", [said.label, said.after, address.0]),
        ("said subject ", [said.label, said.subject, address.0]),
        (
            "cued both ",
            [said.cues.label, said.cues.sentence, address.1],
        ),
        ("cued around ", [said.cues.label, cues_around, address.1]),
        ("cued after ", [said.cues.label, said.cues.after, address.1]),
    ] {
        let kind = places.iter().fold(Kind::of(name), |kind, sense| {
            letters(*sense).fold(kind.then("|"), Kind::then_byte)
        });
        features.add_kind(kind);
    }
}

fn letters(sense: Sense) -> impl Iterator<Item = u8> {
    let said = SENSES.iter().filter(move |(one, _)| sense.says(*one));
    said.map(|(_, letter)| *letter)
}
