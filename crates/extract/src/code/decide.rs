//! One code, or none: the best candidate, if it is good and has no rival.

use super::bound::{Bound, bound};
use super::candidate::{Candidate, candidates};
use super::context::Context;
use super::evidence::{MailContext, Rule, evidence};
use super::segment::segments;
use super::shape::Shape;
use crate::lexicon::{self, Sense};
use crate::reading::{Reading, Source};
use crate::{Allowlist, Code, Reason, Verdict};

/// What a candidate needs.
const THRESHOLD: i32 = 60;
/// How far ahead of the next value the best one has to be.
const MARGIN: i32 = 12;

/// The verdict and what it rests on.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict<Code>,
    /// The best candidate stands at the very end of its source.
    pub(crate) reaches_end: bool,
    /// The languages whose words were met, most often first.
    pub(crate) languages: Vec<&'static str>,
    /// Every candidate with points, best first.
    pub(crate) considered: Vec<Considered>,
}

/// A candidate and its points, without its value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Considered {
    /// Where it stands.
    pub source: Source,
    /// The place in the decoded source, in bytes.
    pub at: usize,
    /// How long it is there.
    pub length: usize,
    /// What it looks like.
    pub shape: Shape,
    /// All points together.
    pub score: i32,
    /// What gave and took the points.
    pub rules: Vec<(Rule, i32)>,
    /// Which value it is: equal numbers, equal values.
    pub value: usize,
}

struct Scored {
    source: Source,
    candidate: Candidate,
    rules: Vec<Rule>,
    at: usize,
    score: i32,
    /// Where the label stands that the candidate shares a sentence with.
    label: Option<usize>,
}

/// Finds the code in the readings of one mail.
pub(crate) fn find(readings: &[Reading], allowed: &Allowlist) -> Finding {
    let hits: Vec<_> = readings.iter().map(|reading| lexicon::code_hits(reading.text())).collect();
    let mut mail = MailContext::default();
    for (reading, hits) in readings.iter().zip(&hits) {
        let all = hits.iter().fold(Sense::default(), |all, hit| all.or(hit.sense));
        match reading.source {
            Source::Subject => mail.subject = all,
            Source::Text | Source::Html => mail.body = mail.body.or(all),
        }
    }
    let mut scored = Vec::new();
    let mut crowded = false;
    for (reading, hits) in readings.iter().zip(&hits) {
        let segments = segments(reading.text());
        let context = Context { text: reading.text(), segments: &segments, hits };
        let (found, too_many) = candidates(reading, &segments, hits);
        crowded |= too_many;
        let all: Vec<_> = found.iter().map(|candidate| evidence(candidate, reading, context, mail)).collect();
        for (index, candidate) in found.iter().enumerate() {
            let mut rules = all.get(index).cloned().unwrap_or_default();
            if is_overshadowed(index, &found, &all, context) && !rules.is_empty() {
                rules.push(Rule::Overshadowed);
            }
            let score = rules.iter().map(|rule| rule.points()).sum();
            let at = reading.folded.source(candidate.range.start);
            let label = context.before(candidate, Sense::CODE.or(Sense::WORD)).filter(|near| near.stops == 0 && near.lines == 0);
            let label = label.map(|near| near.hit.range.start);
            scored.push(Scored { source: reading.source, candidate: candidate.clone(), rules, at, score, label });
        }
    }
    let values = agree(&mut scored);
    scored.sort_by(|a, b| b.score.cmp(&a.score).then(a.source.cmp(&b.source)).then(a.at.cmp(&b.at)));
    let bound = readings.iter().find_map(bound);
    let verdict = match bound {
        Some(bound) => decide_bound(&bound, &scored, allowed),
        None => decide(&scored, crowded),
    };
    let reaches_end = scored.first().is_some_and(|best| {
        let own = readings.iter().find(|reading| reading.source == best.source);
        own.is_some_and(|reading| reading.text().get(best.candidate.range.end..).is_none_or(|rest| rest.trim().is_empty()))
    });
    let languages = lexicon::languages(hits.iter().flatten());
    Finding { verdict, reaches_end, languages, considered: considered(&scored, &values, readings) }
}

/// A label belongs to the first candidate after it. One of the same shape
/// further on stays a rival: nobody can tell which of the two is meant.
fn is_overshadowed(index: usize, found: &[Candidate], rules: &[Vec<Rule>], context: Context<'_>) -> bool {
    let Some(candidate) = found.get(index) else { return false };
    let label = context.before(candidate, Sense::CODE.or(Sense::WORD));
    let Some(label) = label.filter(|label| !label.linked) else { return false };
    found.iter().zip(rules).take(index).any(|(other, rules)| {
        let differs = other.shape != candidate.shape || other.compact.len() != candidate.compact.len();
        let plausible = !rules.contains(&Rule::OtherNumber) && !rules.contains(&Rule::OtherKind);
        differs && plausible && !other.shape.is_wordlike() && other.range.start >= label.hit.range.end
    })
}

/// The same value in two sources supports itself. Returns the values met.
fn agree(scored: &mut [Scored]) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    let mut seen: Vec<Vec<Source>> = Vec::new();
    for one in scored.iter() {
        let key = one.candidate.compact.to_ascii_uppercase();
        let at = values.iter().position(|value| *value == key).unwrap_or_else(|| {
            values.push(key);
            seen.push(Vec::new());
            values.len() - 1
        });
        if let Some(sources) = seen.get_mut(at).filter(|sources| !sources.contains(&one.source)) {
            sources.push(one.source);
        }
    }
    for one in scored.iter_mut().filter(|one| one.score > 0) {
        let key = one.candidate.compact.to_ascii_uppercase();
        let sources = values.iter().position(|value| *value == key).and_then(|at| seen.get(at));
        if sources.is_some_and(|sources| sources.len() > 1) {
            one.rules.push(Rule::Agreement);
            one.score += Rule::Agreement.points();
        }
    }
    values
}

fn decide_bound(bound: &Bound, scored: &[Scored], allowed: &Allowlist) -> Verdict<Code> {
    if !allowed.names(&bound.host) {
        return Verdict::Withheld(Reason::HostNotAllowed);
    }
    let compact: String = bound.value.chars().filter(char::is_ascii_alphanumeric).collect();
    let contradicted = scored.iter().any(|one| one.score >= THRESHOLD + 20 && !is_same(&one.candidate.compact, &compact));
    if contradicted {
        return Verdict::Withheld(Reason::Ambiguous);
    }
    Verdict::Found(Code { value: bound.value.clone(), compact, confidence: 99, rule: "domain_bound" })
}

fn decide(scored: &[Scored], crowded: bool) -> Verdict<Code> {
    let Some(best) = scored.first() else { return Verdict::Nothing(Reason::NoCandidate) };
    if best.score < THRESHOLD {
        let other = best.rules.contains(&Rule::OtherKind);
        return Verdict::Nothing(if other { Reason::OtherKind } else { Reason::NotConvincing });
    }
    let rivals = scored.iter().filter(|one| !is_same(&one.candidate.compact, &best.candidate.compact));
    let close = rivals.clone().any(|one| one.score >= THRESHOLD && best.score - one.score < MARGIN || is_sibling(one, best));
    if close && disagree(scored) {
        return Verdict::Withheld(Reason::PartsDisagree);
    }
    if close || crowded {
        return Verdict::Withheld(Reason::Ambiguous);
    }
    if disagree(scored) {
        return Verdict::Withheld(Reason::PartsDisagree);
    }
    let strongest = best.rules.iter().max_by_key(|rule| rule.points());
    Verdict::Found(Code {
        value: best.candidate.value.clone(),
        compact: best.candidate.compact.clone(),
        confidence: u8::try_from(best.score.clamp(0, 98)).unwrap_or(98),
        rule: strongest.map_or("none", |rule| rule.as_str()),
    })
}

/// "Your codes: 111111 for this, 222222 for that".
fn is_sibling(one: &Scored, best: &Scored) -> bool {
    let alike = one.candidate.shape == best.candidate.shape && one.candidate.compact.len() == best.candidate.compact.len();
    let shared = one.label.is_some() && one.label == best.label && one.source == best.source;
    alike && shared && one.score > 0 && !one.candidate.shape.is_wordlike()
}

/// The text and the HTML each have a good code, and not the same one.
fn disagree(scored: &[Scored]) -> bool {
    let best = |source| scored.iter().find(|one| one.source == source && one.score >= THRESHOLD);
    let (Some(text), Some(html)) = (best(Source::Text), best(Source::Html)) else { return false };
    let appears = |compact: &str, source| scored.iter().any(|one| one.source == source && is_same(&one.candidate.compact, compact));
    !is_same(&text.candidate.compact, &html.candidate.compact)
        && (!appears(&text.candidate.compact, Source::Html) || !appears(&html.candidate.compact, Source::Text))
}

/// Equal, or one with the prefix the other is printed without.
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_ascii_uppercase(), b.to_ascii_uppercase());
    let prefixed = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|prefix| {
            prefix.len() <= 4 && prefix.bytes().all(|byte| byte.is_ascii_uppercase()) && short.len() >= 4
        })
    };
    a == b || prefixed(&a, &b) || prefixed(&b, &a)
}

fn considered(scored: &[Scored], values: &[String], readings: &[Reading]) -> Vec<Considered> {
    let length = |one: &Scored| {
        let folded = readings.iter().find(|reading| reading.source == one.source).map(|reading| &reading.folded);
        folded.map_or(0, |folded| folded.source(one.candidate.range.end.saturating_sub(1)) + 1 - one.at.min(folded.source(one.candidate.range.end.saturating_sub(1)) + 1))
    };
    scored
        .iter()
        .filter(|one| !one.rules.is_empty())
        .take(20)
        .map(|one| Considered {
            source: one.source,
            at: one.at,
            length: length(one),
            shape: one.candidate.shape,
            score: one.score,
            rules: one.rules.iter().map(|rule| (*rule, rule.points())).collect(),
            value: values.iter().position(|value| value.eq_ignore_ascii_case(&one.candidate.compact)).unwrap_or(0),
        })
        .collect()
}
