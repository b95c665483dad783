//! Whole numbers that describe one occurrence of a value, for the trees that judge it.

use super::context::Context;
use super::score::{FACTS, ScoredCode};
use super::shape::Shape;
use crate::cue;
use crate::model::small;
use crate::reading::TextSource;

/// Where it says whether the occurrence has a line of its own.
pub(super) const ALONE: usize = 2;

/// The facts about an occurrence. `cues` says how often its reading has each cue.
pub(super) fn facts(
    one: &ScoredCode,
    context: &Context<'_>,
    cues: [i32; cue::KINDS],
) -> [i32; FACTS] {
    let candidate = &one.candidate;
    let own = context.segments.get(candidate.segment);
    let line = own.map_or(0, |own| own.range.len());
    let points = one.rules.iter().map(|rule| rule.points());
    let mut facts = [0; FACTS];
    let first = [
        shape(candidate.shape),
        small(candidate.compact.len(), 20),
        i32::from(candidate.alone),
        i32::from(context.reading.is_emphasised(candidate.range.start)),
        match one.source {
            TextSource::Subject => 0,
            TextSource::Text => 1,
            TextSource::Html => 2,
        },
        points.clone().max().unwrap_or_default(),
        points.map(|points| points.min(0)).sum(),
        small(candidate.segment, 40),
        small(context.segments.len().saturating_sub(candidate.segment), 40),
        small(line.saturating_sub(candidate.range.len()), 300),
        context.reading.stress(&candidate.range) as i32,
    ];
    let all = first.into_iter().chain(cues);
    for (place, fact) in facts.iter_mut().zip(all) {
        *place = fact;
    }
    facts
}

fn shape(shape: Shape) -> i32 {
    match shape {
        Shape::Digits => 0,
        Shape::Grouped => 1,
        Shape::Prefixed => 2,
        Shape::Mixed => 3,
        Shape::MixedCase => 4,
        Shape::Dashed => 5,
        Shape::Letters => 6,
        Shape::SmallLetters => 7,
        Shape::Words => 8,
    }
}
