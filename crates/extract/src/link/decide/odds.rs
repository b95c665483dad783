//! Gives every link the odds of the model.

use super::super::features;
use super::candidate::{LinkCandidate, Search};
use super::{JudgedLink, read, target};
use crate::allowlist::Allowlist;
use crate::model::{CandidateFeatures, Collector, LINKS};
use crate::reading::Reading;
use crate::steps::Steps;

/// Steps charged for judging the targets of a mail.
const PER_TREES: usize = 20_000;

/// Gives every link the odds of the model and of the trees. Returns the log odds that the
/// mail gives to all its links.
pub(super) fn rate(
    readings: &[Reading],
    candidates: &mut [LinkCandidate],
    search: &mut Search<'_>,
) -> i32 {
    if candidates.is_empty() {
        return 0;
    }
    let shared = features::of_mail(readings, &mut search.collector, search.steps);
    let base = LINKS.score(&shared);
    for one in candidates.iter_mut() {
        one.parts = LINKS.score_parts(&one.features);
        one.rated = base + one.parts.iter().sum::<i32>();
    }
    search.steps.charge(PER_TREES);
    let all: Vec<&LinkCandidate> = candidates.iter().collect();
    let judged = target::judge(&all, base);
    for (link, odds) in candidates.iter_mut().zip(judged) {
        link.odds = odds;
    }
    base
}

/// What the model sees of a mail and of its links.
pub(crate) fn seen_by_model(
    readings: &[Reading],
    steps: &Steps<'_>,
) -> (Vec<Vec<u32>>, Vec<CandidateFeatures>) {
    let links = read(readings, steps);
    let any = Allowlist::any();
    // The trees judge a link beside those that pass the gate.
    let passed = links.candidates.iter();
    let passed = passed.filter(|one| JudgedLink::of(one, &any).rule.is_ok());
    let seen = passed.enumerate().map(|(place, one)| CandidateFeatures {
        value: one.href.clone(),
        same: one.page.clone(),
        points: one.points(),
        features: one.features.parts(),
        facts: target::facts_of_one(one, place),
    });
    let seen = seen.collect();
    (
        features::of_mail(readings, &mut Collector::new(), steps).parts(),
        seen,
    )
}
