//! One code, or none: the best candidate, if it is good and has no rival.

use super::bound::{Bound, bound};
use super::rule::Rule;
use super::score::{Considered, Scored, considered, score};
use crate::lexicon;
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

/// Finds the code in the readings of one mail.
pub(crate) fn find(readings: &[Reading], allowed: &Allowlist) -> Finding {
    let hits: Vec<_> = readings
        .iter()
        .map(|reading| lexicon::code_hits(reading.text()))
        .collect();
    let (scored, crowded) = score(readings, &hits);
    let verdict = match readings.iter().find_map(bound) {
        Some(bound) => decide_bound(&bound, &scored, allowed),
        None => decide(&scored, crowded),
    };
    Finding {
        verdict,
        reaches_end: scored
            .first()
            .is_some_and(|best| reaches_end(best, readings)),
        languages: lexicon::languages(hits.iter().flatten()),
        considered: considered(&scored, readings),
    }
}

fn reaches_end(best: &Scored, readings: &[Reading]) -> bool {
    let own = readings
        .iter()
        .find(|reading| reading.source == best.source);
    let rest = own.and_then(|reading| reading.text().get(best.candidate.range.end..));
    rest.is_none_or(|rest| rest.trim().is_empty())
}

fn decide_bound(bound: &Bound, scored: &[Scored], allowed: &Allowlist) -> Verdict<Code> {
    if !allowed.names(&bound.host) {
        return Verdict::Withheld(Reason::HostNotAllowed);
    }
    let compact: String = bound
        .value
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let contradicted = scored
        .iter()
        .any(|one| one.score >= THRESHOLD + 20 && !is_same(&one.candidate.compact, &compact));
    if contradicted {
        return Verdict::Withheld(Reason::Ambiguous);
    }
    Verdict::Found(Code {
        value: bound.value.clone(),
        compact,
        confidence: 99,
        rule: "domain_bound",
    })
}

fn decide(scored: &[Scored], crowded: bool) -> Verdict<Code> {
    let Some(best) = scored.first() else {
        return Verdict::Nothing(Reason::NoCandidate);
    };
    if best.score < THRESHOLD {
        let other = best.rules.contains(&Rule::OtherKind);
        return Verdict::Nothing(if other {
            Reason::OtherKind
        } else {
            Reason::NotConvincing
        });
    }
    let rivals = scored
        .iter()
        .filter(|one| !is_same(&one.candidate.compact, &best.candidate.compact));
    let close = rivals.clone().any(|one| {
        one.score >= THRESHOLD && best.score - one.score < MARGIN
            || is_sibling(one, best)
            || is_second(one, best)
    });
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
    let alike = one.candidate.shape == best.candidate.shape
        && one.candidate.compact.len() == best.candidate.compact.len();
    let shared = one.label.is_some() && one.label == best.label && one.source == best.source;
    alike && shared && one.score > 0 && !one.candidate.shape.is_wordlike()
}

/// "Your email code is 111111 and your phone code is 222222".
fn is_second(one: &Scored, best: &Scored) -> bool {
    const PLAIN: i32 = 80;
    let alike = one.candidate.shape == best.candidate.shape
        && one.candidate.compact.len() == best.candidate.compact.len();
    let labelled = one.label.is_some() && best.label.is_some() && one.source == best.source;
    alike && labelled && one.score >= PLAIN
}

/// The text and the HTML each have a good code, and not the same one.
fn disagree(scored: &[Scored]) -> bool {
    let best = |source| {
        scored
            .iter()
            .find(|one| one.source == source && one.score >= THRESHOLD)
    };
    let (Some(text), Some(html)) = (best(Source::Text), best(Source::Html)) else {
        return false;
    };
    let appears = |compact: &str, source| {
        scored
            .iter()
            .any(|one| one.source == source && is_same(&one.candidate.compact, compact))
    };
    !is_same(&text.candidate.compact, &html.candidate.compact)
        && (!appears(&text.candidate.compact, Source::Html)
            || !appears(&html.candidate.compact, Source::Text))
}

/// Equal, or one with the prefix the other is printed without.
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_ascii_uppercase(), b.to_ascii_uppercase());
    let prefixed = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|prefix| {
            prefix.len() <= 4
                && prefix.bytes().all(|byte| byte.is_ascii_uppercase())
                && short.len() >= 4
        })
    };
    a == b || prefixed(&a, &b) || prefixed(&b, &a)
}
