//! What the model sees of the shape of a candidate, and of how it is set.

use super::candidate::Candidate;
use super::number::{is_compact_date, is_year};
use crate::model::{Collector, Kind};
use crate::reading::Reading;

/// Adds the features of the shape and of the layout.
pub(super) fn add(candidate: &Candidate, reading: &Reading, features: &mut Collector) {
    let at = candidate.range.start;
    let length = i32::try_from(candidate.compact.len()).map_or(12, |length| length.min(12));
    let shape = candidate.shape.name();
    let alone = if candidate.alone { "alone" } else { "within" };
    let emphasis = if reading.is_emphasised(at) {
        "large"
    } else {
        "plain"
    };
    let source = reading.source.name();
    let shaped = |kind: &str| Kind::of(kind).then(shape).then(" ").then_number(length);
    let laid_out = |kind: Kind| kind.then(alone).then(" ").then(emphasis);
    features.add_kind(shaped("shape"));
    features.add_kind(laid_out(const { Kind::of("layout") }));
    features.add_kind(laid_out(shaped("shape layout").then(" ")));
    let stress = reading.stress(&candidate.range).name();
    features.add_kind(
        const { Kind::of("stress") }
            .then(source)
            .then(" ")
            .then(stress),
    );
    features.add_kind(laid_out(
        const { Kind::of("stress layout") }.then(stress).then(" "),
    ));
    features.add("source", source);
    features.add_kind(
        const { Kind::of("source layout") }
            .then(source)
            .then(" ")
            .then(alone),
    );
    let sign = |c: &char| matches!(c, '-' | '.' | '/' | ',' | ':' | '_' | ' ');
    let sign = candidate.value.chars().find(sign);
    if let Some(sign) = sign {
        features.add_kind(shaped("sign").then(" ").then(sign.encode_utf8(&mut [0; 4])));
    }
    let digits = candidate.compact.as_bytes();
    let flags = [
        (reading.is_marked(at), "marked"),
        (reading.is_linked(at), "linked"),
        (candidate.numbered, "numbered"),
        (candidate.heading.is_some(), "headed"),
        (is_year(&candidate.compact), "year"),
        (is_compact_date(&candidate.compact), "date"),
        (digits.first() == Some(&b'0'), "zero"),
    ];
    for (_, flag) in flags.iter().filter(|(holds, _)| *holds) {
        features.add("flag", flag);
    }
}
