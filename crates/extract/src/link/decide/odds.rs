//! Gives every link the odds of the model.

use super::super::features;
use super::{LinkCandidate, Search, read};
use crate::model::{CandidateFeatures, Collector, LINKS};
use crate::reading::Reading;
use crate::steps::Steps;

/// Gives every link the odds of the model.
pub(super) fn rate(
    readings: &[Reading],
    candidates: &mut [LinkCandidate],
    search: &mut Search<'_>,
) {
    if candidates.is_empty() {
        return;
    }
    let shared = features::of_mail(readings, &mut search.collector, search.steps);
    let base = LINKS.score(&shared);
    let targets = search.targets.len();
    for (place, one) in candidates.iter_mut().enumerate() {
        features::of_place(place, targets, &mut one.features);
        one.odds = base + LINKS.score(&one.features);
    }
}

/// What the model sees of a mail and of its links.
pub(crate) fn seen_by_model(
    readings: &[Reading],
    steps: &Steps<'_>,
) -> (Vec<Vec<u32>>, Vec<CandidateFeatures>) {
    let links = read(readings, steps);
    let seen = links.candidates.iter().map(|one| {
        let judged = one.as_target.as_ref().unwrap_or(&one.as_written);
        CandidateFeatures {
            value: one.href.clone(),
            points: if one.checked.is_err() || judged.is_protected() {
                -1000
            } else {
                judged.score()
            },
            features: one.features.parts(),
            facts: Vec::new(),
        }
    });
    let seen = seen.collect();
    (
        features::of_mail(readings, &mut Collector::of(&LINKS), steps).parts(),
        seen,
    )
}
