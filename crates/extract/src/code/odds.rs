//! Gives every candidate the odds of the model.

use super::context::{Context, MailContext};
use super::facts;
use super::features::{self, Meanings};
use super::score::ScoredCode;
use super::spread::Spread;
use super::twins::Twins;
use crate::cue;
use crate::model::{CODES, Collector, Features, MAILS, NETWORK, PARTS, Sums, UNIT};
use crate::steps::Steps;

/// Steps charged for the features of a byte of the mail, and for those of a candidate.
const PER_BYTE: usize = 4;
const PER_CANDIDATE: usize = 12_000;
/// The same for a candidate that the network sees.
const PER_LIKELY: usize = 8_000;

/// Candidates with lower odds are not judged. In cross-validation the trees gave none of their
/// values enough odds for a code.
pub(super) const UNLIKELY: i32 = -4 * UNIT;

/// What the models say about a mail as a whole.
#[derive(Debug, Default)]
pub(super) struct MailOdds {
    /// The features that all candidates share.
    pub(super) shared: Features,
    /// The log odds that each part of them gives to a candidate.
    pub(super) parts: [i32; PARTS],
    /// What the network sees of them.
    pub(super) sums: Sums,
    /// The log odds that the mail has a code.
    pub(super) odds: i32,
}

/// Sets the features and the odds of each candidate and sorts the candidates, best first.
pub(super) fn rate(
    contexts: &[Context<'_>],
    mail: MailContext,
    scored: &mut [ScoredCode],
    steps: &Steps<'_>,
) -> MailOdds {
    let mut spread = Spread::default();
    for one in scored.iter() {
        spread.note(&one.candidate, one.source, one.points);
    }
    if scored.is_empty() {
        return MailOdds::default();
    }
    let meanings: Vec<Meanings<'_>> = contexts.iter().map(Meanings::in_text).collect();
    let mut collector = Collector::new();
    let shared = features::of_mail(contexts, mail, &meanings, &mut collector);
    let parts = CODES.score_parts(&shared);
    let base: i32 = parts.iter().sum();
    let mut twins = Twins::default();
    for (context, meant) in contexts.iter().zip(&meanings) {
        steps.charge(PER_BYTE * context.text().len());
        let source = context.reading.source;
        let counts = cue::counts(meant.cues);
        for one in scored.iter_mut().filter(|one| one.source == source) {
            if !steps.charge(PER_CANDIDATE) {
                break;
            }
            let seen = (&mut twins, &mut collector);
            one.features = features::of_candidate(one, context, (&spread, meant), seen);
            one.facts = facts::facts(one, context, counts);
            one.parts = CODES.score_parts(&one.features);
            one.odds = base + one.parts.iter().sum::<i32>();
            if one.odds >= UNLIKELY {
                steps.charge(PER_LIKELY);
                one.sums = NETWORK.of_candidate(&one.features);
            }
        }
    }
    scored.sort_by_key(|one| (std::cmp::Reverse(one.odds), one.source, one.at));
    MailOdds {
        odds: MAILS.score(&shared),
        sums: NETWORK.of_mail(&shared),
        parts,
        shared,
    }
}
