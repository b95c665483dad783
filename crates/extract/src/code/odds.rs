//! Gives every candidate the odds of the model.

use super::context::{Context, MailContext};
use super::features;
use super::score::ScoredCode;
use super::spread::Spread;
use crate::lexicon::Hit;
use crate::model::{CODES, Collector, Features};
use crate::steps::Steps;

/// Steps charged for the features of a byte of the mail, and for those of a candidate.
const PER_BYTE: usize = 4;
const PER_CANDIDATE: usize = 12_000;

/// Sets the features and the odds of each candidate and sorts the candidates, best first.
/// Returns the features that they share.
pub(super) fn rate(
    contexts: &[Context<'_>],
    mail: MailContext,
    scored: &mut [ScoredCode],
    steps: &Steps<'_>,
) -> Features {
    let mut spread = Spread::default();
    for one in scored.iter() {
        spread.note(&one.candidate, one.source, one.points);
    }
    if scored.is_empty() {
        return Features::default();
    }
    let readings = contexts.iter().map(|context| context.reading);
    let cues: Vec<&[Hit]> = readings.map(|reading| reading.cues(steps)).collect();
    let mut collector = Collector::default();
    let shared = features::of_mail(contexts, mail, &cues, &mut collector);
    let base = CODES.score(&shared);
    for (context, cues) in contexts.iter().zip(cues) {
        steps.charge(PER_BYTE * context.text().len());
        let source = context.reading.source;
        for one in scored.iter_mut().filter(|one| one.source == source) {
            if !steps.charge(PER_CANDIDATE) {
                break;
            }
            one.features = features::of_candidate(one, context, (&spread, cues), &mut collector);
            one.odds = base + CODES.score(&one.features);
        }
    }
    scored.sort_by_key(|one| (std::cmp::Reverse(one.odds), one.source, one.at));
    shared
}
