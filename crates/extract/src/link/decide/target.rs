//! Judges each target by all links that lead to it, and by its rivals.
//!
//! The model rates one link at a time. A link beside a better one is rarely the action link,
//! and a link beside one that denies often is. The trees are trained on ratings of mails
//! that the model had not seen (`train/train.py`).

use std::cmp::Reverse;
use std::collections::HashMap;

use super::candidate::{LinkCandidate, UNUSABLE};
use crate::model::{TARGETS, UNIT, small};

/// How many targets are judged. The others have lower odds.
const JUDGED: usize = 6;
/// The most that any other target gets.
const UNJUDGED: i32 = -3 * UNIT;
/// The odds that are taken for a rival when there is none.
const NO_RIVAL: i32 = -LIMIT;
const LIMIT: i32 = 10 * UNIT;
/// The points that are taken for a rival when there is none.
const NO_POINTS: i32 = 2 * UNUSABLE;

/// A target of a mail.
struct Target<'l> {
    page: &'l str,
    /// The odds of its best link.
    odds: i32,
    /// The points of the link that the rules like best.
    points: i32,
}

/// The log odds of each of these links, judged by its target.
pub(super) fn judge(links: &[&LinkCandidate], base: i32) -> Vec<i32> {
    let targets = targets(links);
    let best = targets.iter().take(JUDGED);
    let judged: HashMap<&str, i32> = best
        .map(|target| {
            let own = links.iter().copied().enumerate();
            let own = own.filter(|(_, link)| link.page == target.page);
            let own: Vec<(usize, &LinkCandidate)> = own.collect();
            (
                target.page,
                TARGETS.odds(&facts(target, &targets, &own, base)),
            )
        })
        .collect();
    let odds = links
        .iter()
        .map(|link| match judged.get(link.page.as_str()) {
            Some(odds) => *odds,
            None => link.rated.min(UNJUDGED),
        });
    odds.collect()
}

/// The targets, best first.
fn targets<'l>(links: &[&'l LinkCandidate]) -> Vec<Target<'l>> {
    let mut targets: Vec<Target<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for link in links {
        let next = targets.len();
        let at = *places.entry(&link.page).or_insert(next);
        match targets.get_mut(at) {
            Some(known) => {
                known.odds = known.odds.max(link.rated);
                known.points = known.points.max(link.points());
            }
            None => targets.push(Target {
                page: &link.page,
                odds: link.rated,
                points: link.points(),
            }),
        }
    }
    // The sort is stable: of two with the same odds the first in the mail stays first.
    targets.sort_by_key(|target| Reverse(target.odds));
    targets
}

/// The facts about a target. `train/train.py` computes the same numbers.
fn facts(
    target: &Target<'_>,
    targets: &[Target<'_>],
    own: &[(usize, &LinkCandidate)],
    base: i32,
) -> Vec<i32> {
    let limit = |odds: i32| odds.clamp(-LIMIT, LIMIT);
    let sum: i32 = own.iter().map(|(_, link)| limit(link.rated)).sum();
    let others = || targets.iter().filter(|other| other.page != target.page);
    let mut rivals = others().map(|other| limit(other.odds));
    let rival = rivals.next().unwrap_or(NO_RIVAL);
    let second = rivals.next().unwrap_or(NO_RIVAL);
    let protected = others().filter(|other| other.points == UNUSABLE);
    let best = limit(target.odds);
    let mut facts = vec![
        best,
        sum / i32::try_from(own.len().max(1)).unwrap_or(1),
        own.iter()
            .map(|(_, link)| limit(link.rated))
            .min()
            .unwrap_or(best),
        rival,
        best - rival,
        second,
        small(own.len(), 20),
        small(targets.len(), 30),
        target.points,
        own.iter()
            .map(|(_, link)| link.points())
            .min()
            .unwrap_or(UNUSABLE),
        others()
            .map(|other| other.points)
            .max()
            .unwrap_or(NO_POINTS),
        small(protected.count(), 30),
        limit(base),
    ];
    // Of links with the same odds, the first.
    if let Some((place, first)) = own.iter().rev().max_by_key(|(_, link)| link.rated) {
        facts.extend(first.parts);
        facts.extend(facts_of_one(first, *place));
    }
    facts
}

/// The facts about one link, and its place among those that it is judged beside.
pub(super) fn facts_of_one(link: &LinkCandidate, place: usize) -> Vec<i32> {
    let place = small(place, 20);
    link.facts.iter().copied().chain([place]).collect()
}
