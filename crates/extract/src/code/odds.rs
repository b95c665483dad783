//! Gives every candidate the odds of the model.

use super::context::Context;
use super::features;
use super::score::{ScoredCode, mail_context};
use super::segment::segments;
use super::spread::Spread;
use crate::cue;
use crate::lexicon::{Hit, cue_hits};
use crate::model::{CODES, Collector, Features};
use crate::reading::Reading;
use crate::steps::Steps;

/// Steps charged for the features of a byte of the mail, and for those of a candidate.
const PER_BYTE: usize = 4;
const PER_CANDIDATE: usize = 12_000;

/// Sets the features and the odds of each candidate and sorts the candidates, best first.
/// Returns the features that they share.
pub(super) fn rate(
    readings: &[Reading],
    hits: &[Vec<Hit>],
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
    let cues_of = |reading: &Reading| cue_hits(cue::examined(reading.text()), steps);
    let cues: Vec<Vec<Hit>> = readings.iter().map(cues_of).collect();
    let mail = mail_context(readings, hits);
    let said = (mail.body.or(mail.subject), mail.subject);
    let mut collector = Collector::default();
    let shared = features::of_mail(readings, said, &cues, &mut collector);
    let base = CODES.score(&shared);
    for ((reading, hits), cues) in readings.iter().zip(hits).zip(&cues) {
        steps.charge(PER_BYTE * reading.text().len());
        let segments = segments(reading.text());
        let context = Context {
            text: reading.text(),
            segments: &segments,
            hits,
            steps,
        };
        for one in scored.iter_mut().filter(|one| one.source == reading.source) {
            if !steps.charge(PER_CANDIDATE) {
                break;
            }
            let known = (one.rules.as_slice(), &spread, cues.as_slice());
            one.features =
                features::of_candidate(&one.candidate, reading, context, known, &mut collector);
            one.odds = base + CODES.score(&one.features);
        }
    }
    scored.sort_by_key(|one| (std::cmp::Reverse(one.odds), one.source, one.at));
    shared
}
