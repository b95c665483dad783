//! Judges each value by all of its occurrences and by its rivals.
//!
//! The model rates one occurrence at a time. A code often stands in several parts of a
//! mail, and a number that stands beside a better one is rarely the code. The weights are
//! trained on ratings of mails that the model had not seen (`train/train.py`).

use std::cmp::Reverse;

use super::score::ScoredCode;
use crate::model::{UNIT, value_weight};

/// The log odds that are taken for a rival when there is none.
const NO_RIVAL: i32 = -6 * UNIT;

/// Replaces the odds of each occurrence by those of its value, and sorts, best first.
pub(super) fn judge(scored: &mut [ScoredCode]) {
    let names: Vec<String> = scored
        .iter()
        .map(|one| one.candidate.compact.to_ascii_uppercase())
        .collect();
    let mut distinct: Vec<&String> = names.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let best_two = best_of_two_values(scored, &names);
    let mut judged = Vec::with_capacity(distinct.len());
    for name in &distinct {
        let own = scored.iter().zip(&names).filter(|(_, other)| other == name);
        let rival = best_two.iter().find(|(other, _)| other != name);
        let rival = rival.map_or(NO_RIVAL, |(_, odds)| *odds);
        judged.push(odds_of(
            own.map(|(one, _)| one),
            rival,
            distinct.len(),
            name,
        ));
    }
    let of_each: Vec<i32> = names
        .iter()
        .map(|name| {
            let at = distinct.binary_search(&name).ok();
            at.and_then(|at| judged.get(at))
                .copied()
                .unwrap_or_default()
        })
        .collect();
    for (one, odds) in scored.iter_mut().zip(of_each) {
        one.rated = one.odds;
        one.odds = odds;
    }
    scored.sort_by_key(|one| (Reverse(one.odds), Reverse(one.rated), one.source, one.at));
}

/// The best occurrence of the best value, and that of the next value.
fn best_of_two_values<'a>(scored: &[ScoredCode], names: &'a [String]) -> Vec<(&'a String, i32)> {
    let mut best: Vec<(&String, i32)> = Vec::with_capacity(2);
    let mut rated: Vec<(&String, i32)> = names
        .iter()
        .zip(scored)
        .map(|(name, one)| (name, one.odds))
        .collect();
    rated.sort_by_key(|(_, odds)| Reverse(*odds));
    for (name, odds) in rated {
        if best.len() < 2 && best.iter().all(|(known, _)| *known != name) {
            best.push((name, odds));
        }
    }
    best
}

/// The log odds of a value. `train/train.py` computes the same numbers.
fn odds_of<'a>(
    occurrences: impl Iterator<Item = &'a ScoredCode> + Clone,
    rival: i32,
    values: usize,
    name: &str,
) -> i32 {
    let limit = |odds: i32| odds.clamp(-10 * UNIT, 10 * UNIT);
    let flag = |is_so: bool| if is_so { UNIT } else { 0 };
    let few = |count: usize, most: i32| UNIT * i32::try_from(count).unwrap_or(most).min(most);
    let count = occurrences.clone().count();
    let sum: i32 = occurrences.clone().map(|one| limit(one.odds)).sum();
    let best = occurrences.clone().map(|one| one.odds).max();
    let points = occurrences.map(|one| one.points).max().unwrap_or_default();
    let mean = sum / i32::try_from(count.max(1)).unwrap_or(1);
    let (best, rival) = (limit(best.unwrap_or_default()), limit(rival));
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let facts = [
        best,
        mean,
        rival,
        (best - 2 * UNIT).max(0),
        (-UNIT - best).max(0),
        rival.max(0),
        mean.max(0),
        (-mean).max(0),
        (best - rival).max(0),
        (points - 60).max(0),
        (points - 100).max(0),
        (60 - points).clamp(0, 100),
        flag(count == 1),
        few(count.saturating_sub(2), 6),
        flag(values == 1),
        few(values.saturating_sub(2), 10),
        flag(name.len() == 4),
        flag(name.len() == 6),
        few(name.len().saturating_sub(6), 6),
        flag(digits == name.len()),
        flag(digits == 0),
    ];
    let weighted = facts
        .iter()
        .zip(1..)
        .map(|(fact, at)| fact * value_weight(at));
    value_weight(0) + weighted.sum::<i32>() / 1024
}
