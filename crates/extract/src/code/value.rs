//! Judges each value by all of its occurrences and by its rivals.
//!
//! The model rates one occurrence at a time. A code often stands in several parts of a
//! mail, and a number that stands beside a better one is rarely the code. The trees and the
//! network are trained on ratings of mails that the model had not seen (`train/train.py`).

use std::cmp::Reverse;

use super::facts::ALONE;
use super::odds::{MailOdds, UNLIKELY};
use super::score::ScoredCode;
use crate::model::{NETWORK, UNIT, VALUES, small};
use crate::reading::TextSource;
use crate::steps::Steps;

/// How many values are judged. The others have lower odds.
const JUDGED: usize = 4;
/// The most that any other value gets.
const UNJUDGED: i32 = -3 * UNIT;
/// The odds that are taken for a rival when there is none.
const NO_RIVAL: i32 = -LIMIT;
const LIMIT: i32 = 10 * UNIT;
/// Steps charged for judging a value.
const PER_VALUE: usize = 10_000;

/// A value of a mail.
struct Value<'n> {
    name: &'n str,
    /// The odds of its best occurrence.
    odds: i32,
}

/// Replaces the odds of each occurrence by those of its value, and sorts, best first. The
/// occurrences come sorted by their odds.
pub(super) fn judge(scored: &mut [ScoredCode], mail: &MailOdds, steps: &Steps<'_>) {
    let names: Vec<String> = scored
        .iter()
        .map(|one| one.candidate.compact.to_ascii_uppercase())
        .collect();
    let mut values: Vec<Value<'_>> = Vec::new();
    for (name, one) in names.iter().zip(scored.iter()) {
        if values.iter().all(|value| value.name != name) {
            let odds = one.odds;
            values.push(Value { name, odds });
        }
    }
    let mut judged = Vec::with_capacity(JUDGED);
    let likely = values.iter().take_while(|value| value.odds >= UNLIKELY);
    for value in likely.take(JUDGED) {
        steps.charge(PER_VALUE);
        let own = scored.iter().zip(&names);
        let own = own.filter(|(_, name)| *name == value.name);
        let own: Vec<&ScoredCode> = own.map(|(one, _)| one).collect();
        judged.push((value.name, odds(value, &values, &own, mail)));
    }
    let of_each: Vec<Option<i32>> = names
        .iter()
        .map(|name| {
            let known = judged.iter().find(|(other, _)| other == name);
            known.map(|(_, odds)| *odds)
        })
        .collect();
    for (one, odds) in scored.iter_mut().zip(of_each) {
        one.rated = one.odds;
        one.odds = odds.unwrap_or(one.odds.min(UNJUDGED));
    }
    scored.sort_by_key(|one| (Reverse(one.odds), Reverse(one.rated), one.source, one.at));
}

/// The same for occurrences that were judged beside others.
pub(super) fn judge_again(scored: &mut [ScoredCode], mail: &MailOdds, steps: &Steps<'_>) {
    for one in scored.iter_mut() {
        one.odds = one.rated;
    }
    scored.sort_by_key(|one| (Reverse(one.odds), one.source, one.at));
    judge(scored, mail, steps);
}

/// The odds of a value: those of the trees and those of the network, by the shares that did
/// best in cross-validation.
fn odds(value: &Value<'_>, values: &[Value<'_>], own: &[&ScoredCode], mail: &MailOdds) -> i32 {
    let facts = facts(value, values, own, mail);
    let trees = VALUES.odds(&facts);
    let network = own
        .first()
        .map_or(trees, |best| NETWORK.odds(&facts, &best.sums, &mail.sums));
    (7 * trees + 3 * network) / 10
}

/// The facts about a value. `train/train.py` computes the same numbers.
fn facts(
    value: &Value<'_>,
    values: &[Value<'_>],
    own: &[&ScoredCode],
    mail: &MailOdds,
) -> Vec<i32> {
    let limit = |odds: i32| odds.clamp(-LIMIT, LIMIT);
    let sum: i32 = own.iter().map(|one| limit(one.odds)).sum();
    let mean = sum / i32::try_from(own.len().max(1)).unwrap_or(1);
    let worst = own.iter().map(|one| limit(one.odds)).min();
    let others = || values.iter().filter(|other| other.name != value.name);
    let mut rivals = others().map(|other| limit(other.odds));
    let rival = rivals.next().unwrap_or(NO_RIVAL);
    let second = rivals.next().unwrap_or(NO_RIVAL);
    let alike = others().filter(|other| other.name.len() == value.name.len());
    let best = limit(value.odds);
    let mut facts = vec![
        best,
        mean,
        worst.unwrap_or(best),
        rival,
        best - rival,
        second,
        limit(mail.odds),
        small(own.len(), 20),
        small(values.len(), 30),
        own.iter().map(|one| one.points).max().unwrap_or_default(),
        small(1 + alike.count(), 30),
        own.iter()
            .filter_map(|one| one.facts.get(ALONE).copied())
            .max()
            .unwrap_or_default(),
        i32::from(own.iter().any(|one| one.source == TextSource::Subject)),
    ];
    if let Some(first) = own.first() {
        facts.extend(first.parts);
        facts.extend(mail.parts);
        facts.extend(first.facts);
    }
    facts
}
