//! Scores every candidate of a mail.

use super::around::Around;
use super::candidate::{Candidate, candidates};
use super::context::{Context, MailContext};
use super::cut::is_cut;
use super::decoy;
use super::evidence::evidence;
use super::heard::Heard;
use super::phrase::add_phrases;
use super::rule::Rule;
use super::shape::Shape;
use crate::cue;
use crate::lexicon::Sense;
use crate::model::{Features, PARTS, Sums, percent};
use crate::reading::{Reading, TextSource};

/// Steps charged for scoring a candidate.
const PER_CANDIDATE: usize = 3_000;

/// How many facts describe a candidate: those of `facts`, and one for each cue.
pub(super) const FACTS: usize = 11 + cue::KINDS;

/// A candidate with its points.
#[derive(Debug, Clone)]
pub(super) struct ScoredCode {
    pub(super) source: TextSource,
    pub(super) candidate: Candidate,
    pub(super) rules: Vec<Rule>,
    /// A person may or may not see it.
    pub(super) is_unclear: bool,
    /// Its byte offset in the decoded source.
    pub(super) at: usize,
    /// The sum of the points of its rules.
    pub(super) points: i32,
    /// The log odds that the model gives it, and then those of its value.
    pub(super) odds: i32,
    /// The log odds that the model gave it.
    pub(super) rated: i32,
    /// The offset of the label in the same sentence.
    pub(super) label: Option<usize>,
    pub(super) heard: Heard,
    pub(super) features: Features,
    /// What each part of the features adds to the odds.
    pub(super) parts: [i32; PARTS],
    /// What the network sees of its features.
    pub(super) sums: Sums,
    /// What the trees see of it.
    pub(super) facts: [i32; FACTS],
}

/// A candidate with its points, without its value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Considered {
    /// The part of the mail it is in.
    pub source: TextSource,
    /// Its byte offset in the decoded source.
    pub at: usize,
    /// Its length there, in bytes.
    pub length: usize,
    /// Its shape.
    pub shape: Shape,
    /// How likely it is the code, in percent.
    pub score: i32,
    /// The rules that gave and took points.
    pub rules: Vec<(Rule, i32)>,
    /// A number for its value: the same number for the same value.
    pub value: usize,
}

/// The candidates of all readings, and whether there are more than are
/// examined.
pub(super) fn score(contexts: &[Context<'_>], mail: MailContext) -> (Vec<ScoredCode>, bool) {
    let mut scored = Vec::new();
    let mut crowded = false;
    for context in contexts {
        crowded |= score_reading(context, mail, &mut scored);
    }
    agree(&mut scored);
    (scored, crowded)
}

fn score_reading(context: &Context<'_>, mail: MailContext, scored: &mut Vec<ScoredCode>) -> bool {
    let reading = context.reading;
    let (mut found, crowded) = candidates(context);
    found.retain(|one| !is_cut(one, context));
    let crowded = add_phrases(context, &mut found) || crowded;
    found.retain(|one| !is_button(one, reading));
    decoy::mark(&mut found, context);
    let arounds: Vec<_> = found
        .iter()
        .take_while(|_| context.steps.charge(PER_CANDIDATE))
        .map(|candidate| Around::of(candidate, context))
        .collect();
    let rules: Vec<_> = found
        .iter()
        .zip(&arounds)
        .map(|(candidate, around)| evidence(candidate, reading, around, mail))
        .collect();
    let overshadowed: Vec<bool> = arounds
        .iter()
        .enumerate()
        .map(|(index, around)| is_overshadowed(index, &found, &rules, around))
        .collect();
    let all = found.into_iter().zip(rules).zip(arounds).zip(overshadowed);
    for (((candidate, mut rules), around), overshadowed) in all {
        if overshadowed {
            rules.push(Rule::Overshadowed);
        }
        let label = around
            .before(Sense::CODE.or(Sense::WORD))
            .filter(|near| near.stops == 0 && near.lines == 0)
            .map(|near| near.hit.start());
        scored.push(ScoredCode {
            source: reading.source,
            is_unclear: reading.is_unclear(candidate.range.start)
                || reading.is_unclear(candidate.range.end.saturating_sub(1)),
            points: rules.iter().map(|rule| rule.points()).sum(),
            odds: i32::MIN,
            rated: i32::MIN,
            rules,
            at: reading.folded.source(candidate.range.start),
            label,
            heard: Heard::of(&around),
            features: Features::default(),
            parts: [0; PARTS],
            sums: Sums::default(),
            facts: [0; FACTS],
            candidate,
        });
    }
    crowded
}

/// Whether a candidate is the words of a link: `VERIFY`.
fn is_button(candidate: &Candidate, reading: &Reading) -> bool {
    candidate.shape.is_wordlike() && reading.is_linked(candidate.range.start)
}

/// Whether the label before a candidate belongs to another candidate in between. A
/// candidate of the same shape does not count: either of the two can be meant.
fn is_overshadowed(
    index: usize,
    found: &[Candidate],
    rules: &[Vec<Rule>],
    around: &Around<'_>,
) -> bool {
    let Some(candidate) = found.get(index) else {
        return false;
    };
    let label = around.before(Sense::CODE.or(Sense::WORD));
    let Some(label) = label.filter(|label| !label.linked) else {
        return false;
    };
    found.iter().zip(rules).take(index).any(|(other, rules)| {
        let differs =
            other.shape != candidate.shape || other.compact.len() != candidate.compact.len();
        let plausible = !rules.contains(&Rule::OtherNumber) && !rules.contains(&Rule::OtherKind);
        differs && plausible && !other.shape.is_wordlike() && other.range.start >= label.hit.end()
    })
}

/// Gives points to values that occur in two sources.
fn agree(scored: &mut [ScoredCode]) {
    let seen: Vec<(String, TextSource)> = scored
        .iter()
        .map(|one| (one.candidate.compact.to_ascii_uppercase(), one.source))
        .collect();
    for one in scored.iter_mut().filter(|one| one.points > 0) {
        let elsewhere = |(value, source): &(String, TextSource)| {
            *source != one.source && value.eq_ignore_ascii_case(&one.candidate.compact)
        };
        if seen.iter().any(elsewhere) {
            one.rules.push(Rule::Agreement);
            one.points += Rule::Agreement.points();
        }
    }
}

/// Describes the best candidates, with numbers in place of values.
pub(super) fn considered(scored: &[ScoredCode], readings: &[Reading]) -> Vec<Considered> {
    let mut values: Vec<&str> = Vec::new();
    let mut considered = Vec::new();
    for one in scored
        .iter()
        .filter(|one| !one.rules.contains(&Rule::PlainWord))
        .take(20)
    {
        let compact = one.candidate.compact.as_str();
        let value = values
            .iter()
            .position(|value| value.eq_ignore_ascii_case(compact))
            .unwrap_or_else(|| {
                values.push(compact);
                values.len() - 1
            });
        let folded = readings
            .iter()
            .find(|reading| reading.source == one.source)
            .map(|reading| &reading.folded);
        let last = folded.map_or(one.at, |folded| {
            folded.source(one.candidate.range.end.saturating_sub(1))
        });
        considered.push(Considered {
            source: one.source,
            at: one.at,
            length: (last + 1).saturating_sub(one.at),
            shape: one.candidate.shape,
            score: i32::from(percent(one.odds)),
            rules: one
                .rules
                .iter()
                .map(|rule| (*rule, rule.points()))
                .collect(),
            value,
        });
    }
    considered
}

#[cfg(test)]
impl ScoredCode {
    /// Digits in the text with these odds, and nothing else that is known about them.
    pub(super) fn example(value: &str, odds: i32) -> Self {
        Self {
            source: TextSource::Text,
            candidate: Candidate::example(value),
            rules: Vec::new(),
            is_unclear: false,
            at: 0,
            points: 0,
            odds,
            rated: odds,
            label: None,
            heard: Heard::default(),
            features: Features::default(),
            parts: [0; PARTS],
            sums: Sums::default(),
            facts: [0; FACTS],
        }
    }
}
