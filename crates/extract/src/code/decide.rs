//! Decides which candidate is the code: the best one, if it is good enough and no
//! other value comes close.

use super::audience::Audience;
use super::bound::{Bound, bound};
use super::context::{Context, MailContext};
use super::needs::{
    EXPECTED, LABELLED, MARGIN, SUPPORT, THRESHOLD, THRESHOLD_LABELLED, THRESHOLD_SMALL,
    THRESHOLD_WORDS,
};
use super::odds::{MailOdds, rate};
use super::rivals::{disagree, is_same, is_second, is_sibling};
use super::rule::Rule;
use super::score::{Considered, ScoredCode, considered, score};
use super::shape::Shape;
use super::value;
use crate::allowlist::Allowlist;
use crate::expected::ExpectedCode;
use crate::extraction::{AbstainReason, Code, Extraction};
use crate::fold::folded;
use crate::host;
use crate::lexicon;
use crate::model::{CandidateFeatures, Features, UNIT, percent};
use crate::policy::Policy;
use crate::reading::Reading;
use crate::steps::Steps;
use crate::words::{WordLimit, reads_as_words};

/// The codes of one mail, scored once. They can then be decided under any number of
/// policies.
#[derive(Debug)]
pub(crate) struct Codes {
    /// A code that is bound to a host overrides all other evidence.
    bound: Option<BoundCode>,
    extraction: Extraction<Code>,
    /// All candidates, best first, for callers that expect a code of a certain form.
    scored: Vec<ScoredCode>,
    mail: MailOdds,
    /// There are more candidates than were examined.
    crowded: bool,
    /// The best candidate is at the very end of its source.
    pub(crate) reaches_end: bool,
    /// The languages of the terms that were found, most frequent first.
    pub(crate) languages: Vec<&'static str>,
    /// The candidates with points, best first.
    pub(crate) considered: Vec<Considered>,
}

#[derive(Debug)]
struct BoundCode {
    host: String,
    extraction: Extraction<Code>,
}

impl Codes {
    /// Decides under one policy.
    pub(crate) fn decide(&self, policy: &Policy) -> Extraction<Code> {
        let decided = match &self.bound {
            Some(bound) if policy.links.names(&bound.host) => bound.extraction.clone(),
            Some(_) => return Extraction::Withheld(AbstainReason::HostNotAllowed),
            None => self.unbound(policy.expected),
        };
        match decided.found() {
            Some(code)
                if policy
                    .expected
                    .is_some_and(|form| !form.fits(&code.compact)) =>
            {
                Extraction::Withheld(AbstainReason::NotExpected)
            }
            Some(code) if reads_as_words(&folded(&code.value), WordLimit::Code) => {
                Extraction::Withheld(AbstainReason::ReadsAsWords)
            }
            _ => decided,
        }
    }

    /// Decides about a mail whose code is not bound to a host.
    fn unbound(&self, expected: Option<ExpectedCode>) -> Extraction<Code> {
        let Some(form) = expected else {
            return self.extraction.clone();
        };
        let fitting = self.scored.iter();
        let fitting = fitting.filter(|one| form.fits(&one.candidate.compact));
        let mut fitting: Vec<ScoredCode> = fitting.cloned().collect();
        // Each value was judged beside rivals of other forms.
        value::judge_again(&mut fitting, &self.mail, &Steps::for_size(0));
        match decide(&fitting, self.crowded, EXPECTED) {
            Extraction::Nothing(_) if self.extraction.found().is_some() => {
                Extraction::Withheld(AbstainReason::NotExpected)
            }
            decided => decided,
        }
    }

    /// The registrable domain of the host that the code is bound to, if the allowlist does
    /// not name that host.
    pub(crate) fn refused_host(&self, allowed: &Allowlist) -> Option<String> {
        let bound = self.bound.as_ref()?;
        let domain = host::registrable(&bound.host)?;
        (!allowed.names(&bound.host)).then(|| domain.to_owned())
    }
}

/// Finds and scores the codes in the readings of one mail.
pub(crate) fn read(readings: &[Reading], steps: &Steps<'_>) -> Codes {
    let contexts = Context::of_all(readings, steps);
    let mail = MailContext::of(&contexts);
    let (mut scored, crowded) = score(&contexts, mail);
    let mut odds = rate(&contexts, mail, &mut scored, steps);
    value::judge(&mut scored, &odds, steps);
    // They are large, and they have been used.
    for one in &mut scored {
        one.features = Features::default();
    }
    odds.shared = Features::default();
    let found = readings.iter().find_map(|reading| bound(reading, steps));
    let bound = found.map(|bound| BoundCode {
        extraction: decide_bound(&bound, &scored),
        host: bound.host,
    });
    Codes {
        bound,
        extraction: decide(&scored, crowded, 0),
        reaches_end: scored
            .first()
            .is_some_and(|best| reaches_end(best, readings)),
        languages: lexicon::languages(contexts.iter().flat_map(|context| &context.hits)),
        considered: considered(&scored, readings),
        scored,
        mail: odds,
        crowded,
    }
}

/// What the model sees of a mail and of its candidates.
pub(crate) fn seen_by_model(
    readings: &[Reading],
    steps: &Steps<'_>,
) -> (Vec<Vec<u32>>, Vec<CandidateFeatures>) {
    let contexts = Context::of_all(readings, steps);
    let mail = MailContext::of(&contexts);
    let (mut scored, _) = score(&contexts, mail);
    let odds = rate(&contexts, mail, &mut scored, steps);
    let seen = scored.iter().map(|one| CandidateFeatures {
        value: one.candidate.value.clone(),
        same: one.candidate.compact.to_ascii_uppercase(),
        points: one.points,
        features: one.features.parts(),
        facts: one.facts.to_vec(),
    });
    (odds.shared.parts(), seen.collect())
}

fn reaches_end(best: &ScoredCode, readings: &[Reading]) -> bool {
    let own = readings
        .iter()
        .find(|reading| reading.source == best.source);
    let rest = own.and_then(|reading| reading.text().get(best.candidate.range.end..));
    rest.is_none_or(|rest| rest.trim().is_empty())
}

fn decide_bound(bound: &Bound, scored: &[ScoredCode]) -> Extraction<Code> {
    let compact: String = bound
        .value
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let contradicted = scored
        .iter()
        .any(|one| one.odds >= THRESHOLD + UNIT && !is_same(&one.candidate.compact, &compact));
    if contradicted {
        return Extraction::Withheld(AbstainReason::Ambiguous);
    }
    Extraction::Found(Code {
        value: bound.value.clone(),
        compact,
        confidence: 99,
        rule: "domain_bound",
    })
}

fn decide(scored: &[ScoredCode], crowded: bool, known: i32) -> Extraction<Code> {
    let Some(best) = scored.first() else {
        return Extraction::Nothing(AbstainReason::NoCandidate);
    };
    if best.odds + known < needed(scored, best) {
        return unconvinced(scored, best);
    }
    let is_best = |one: &&ScoredCode| is_same(&one.candidate.compact, &best.candidate.compact);
    if scored
        .iter()
        .filter(is_best)
        .any(|one| one.candidate.audience == Audience::Machines)
    {
        return Extraction::Nothing(AbstainReason::OtherKind);
    }
    let rivals = scored.iter().filter(|one| !is_best(one));
    let close = rivals.clone().any(|one| {
        one.odds >= THRESHOLD.min(best.odds - UNIT) && best.odds - one.odds < MARGIN
            || is_sibling(one, best)
            || is_second(one, best)
    });
    if close && disagree(scored) {
        return Extraction::Withheld(AbstainReason::PartsDisagree);
    }
    if close || crowded {
        return Extraction::Withheld(AbstainReason::Ambiguous);
    }
    if disagree(scored) {
        return Extraction::Withheld(AbstainReason::PartsDisagree);
    }
    let is_clear = |one: &ScoredCode| {
        !one.is_unclear && is_same(&one.candidate.compact, &best.candidate.compact)
    };
    if !scored.iter().any(is_clear) {
        return Extraction::Withheld(AbstainReason::MaybeHidden);
    }
    let occurrences = scored
        .iter()
        .filter(|one| is_same(&one.candidate.compact, &best.candidate.compact));
    let rules = occurrences.flat_map(|one| &one.rules);
    let strongest = rules.max_by_key(|rule| rule.points());
    Extraction::Found(Code {
        value: best.candidate.value.clone(),
        compact: best.candidate.compact.clone(),
        confidence: percent(best.odds),
        rule: strongest.map_or("none", |rule| rule.as_str()),
    })
}

/// The odds that the best value needs: fewer when the rules find a direct label as well.
fn needed(scored: &[ScoredCode], best: &ScoredCode) -> i32 {
    let own = |one: &&ScoredCode| is_same(&one.candidate.compact, &best.candidate.compact);
    let points = scored.iter().filter(own).map(|one| one.points).max();
    let is_labelled = points.is_some_and(|points| points >= LABELLED);
    match (best.candidate.shape, is_labelled) {
        (Shape::Words, false) => THRESHOLD_WORDS,
        (Shape::SmallLetters, false) => THRESHOLD_SMALL,
        (Shape::Words | Shape::SmallLetters, true) | (_, false) => THRESHOLD,
        (_, true) => THRESHOLD_LABELLED,
    }
}

/// Why no candidate is good enough.
fn unconvinced(scored: &[ScoredCode], best: &ScoredCode) -> Extraction<Code> {
    let supported = scored.iter().filter(|one| one.points >= SUPPORT);
    let mut supported = supported.map(|one| one.candidate.compact.as_str());
    let first = supported.next();
    if first.is_some_and(|first| supported.any(|other| !is_same(first, other))) {
        Extraction::Withheld(if disagree(scored) {
            AbstainReason::PartsDisagree
        } else {
            AbstainReason::Ambiguous
        })
    } else if is_of_other_kind(scored, best) {
        Extraction::Nothing(AbstainReason::OtherKind)
    } else {
        Extraction::Nothing(AbstainReason::NotConvincing)
    }
}

/// Whether the number is known to serve something else. Among candidates that are all
/// unlikely, which one is the best says nothing.
fn is_of_other_kind(scored: &[ScoredCode], best: &ScoredCode) -> bool {
    let is_other = |one: &ScoredCode| one.rules.contains(&Rule::OtherKind);
    is_other(best) || best.odds < -2 * UNIT && scored.iter().any(is_other)
}

#[cfg(test)]
mod tests;
