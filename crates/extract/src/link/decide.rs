//! Decides which link of a mail is the action link, or that none is.

mod candidate;
mod choose;
mod judged;
mod odds;
mod relatives;
mod target;

use std::collections::HashMap;
use std::ops::Range;

use super::classify::{Classified, Words};
use super::collect::collect;
use super::concepts::Concepts;
use super::rule::LinkRule;
use crate::allowlist::Allowlist;
use crate::extraction::{Extraction, Link, LinkKind};
use crate::flag::Flag;
use crate::lexicon::{Sense, link_hits};
use crate::model::{Collector, UNIT};
use crate::reading::{Reading, TextSource};
use crate::rejection::Rejection;
use crate::steps::Steps;

use candidate::{LinkCandidate, Search};
use choose::choose;
use odds::rate;
pub(crate) use odds::seen_by_model;

/// How far the best link must be ahead of the next.
const MARGIN: i32 = UNIT;
/// Steps charged for checking and classifying a link, for a byte of its URL, and for a byte
/// of the text around it.
const PER_LINK: usize = 6_000;
const PER_BYTE: usize = 34;
const PER_WORD_BYTE: usize = 10;
/// How many links an explanation lists.
const EXPLAINED: usize = 20;

/// The links of one mail, checked and classified once. They can then be decided
/// under any number of allowlists.
#[derive(Debug)]
pub(crate) struct Links {
    candidates: Vec<LinkCandidate>,
    /// The log odds that the mail gives to each of them.
    base: i32,
    /// How many different targets the links have.
    targets: usize,
    /// The mail has more links than are examined.
    pub(crate) is_cut: bool,
}

/// The decision under one allowlist.
#[derive(Debug)]
pub(crate) struct LinkDecision {
    pub(crate) extraction: Extraction<Link>,
    pub(crate) flags: Vec<Flag>,
    /// The registrable domain of the link that the allowlist does not admit, if that is
    /// why there is none.
    pub(crate) refused_host: Option<String>,
}

/// A link and its points, without its URL.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConsideredLink {
    /// The part of the mail it is in.
    pub source: TextSource,
    /// Its byte offset in the decoded source.
    pub at: usize,
    /// The host it leads to, if it passed the gate.
    pub host: Option<String>,
    /// What it does.
    pub kind: LinkKind,
    /// How likely it is the action link, in percent.
    pub score: i32,
    /// The rules that gave and took points.
    pub rules: Vec<(LinkRule, i32)>,
    /// Why the gate refused it.
    pub rejected: Option<Rejection>,
}

/// A link as one allowlist sees it.
struct JudgedLink<'m, 'l> {
    link: &'m LinkCandidate,
    classified: &'m Classified,
    /// The allowlist entry that admits it.
    rule: Result<&'l str, Rejection>,
    is_repeated: bool,
    /// The text and the HTML have a link to the same target.
    is_in_both: bool,
    /// One of the links to the same target has an ambiguous label.
    has_ambiguous_label: bool,
    score: i32,
}

/// Collects, checks and classifies the links of a mail.
pub(crate) fn read(readings: &[Reading], steps: &Steps<'_>) -> Links {
    let subject = readings
        .iter()
        .filter(|reading| reading.source == TextSource::Subject)
        .flat_map(|reading| link_hits(reading.text(), steps))
        .fold(Sense::default(), |all, hit| all.or(hit.sense));
    let mut candidates = Vec::new();
    let mut search = Search {
        targets: HashMap::new(),
        collector: Collector::new(),
        steps,
    };
    let mut is_cut = false;
    for reading in readings
        .iter()
        .filter(|reading| reading.source != TextSource::Subject)
    {
        let (collected, cut) = collect(reading, steps);
        is_cut |= cut;
        if collected.is_empty() {
            continue;
        }
        let concepts = Concepts::of(reading, steps);
        for written in collected {
            let at = reading.folded.source(written.at);
            let around = written.label.len() + written.sentence.len();
            let around = around + written.before.len() + written.after.len();
            let bytes = PER_BYTE * written.href.len() + PER_WORD_BYTE * around;
            if !steps.charge(PER_LINK + bytes) {
                break;
            }
            let words = Words::of(&written, subject, steps);
            let mut link = LinkCandidate::of((&written, concepts), at, &words, &mut search);
            let machines = reading.machines(steps);
            steps.charge(machines.len());
            let overlaps =
                |range: &Range<usize>| range.start < written.end && written.at < range.end;
            if machines.iter().any(overlaps) {
                link.iter_mut().for_each(LinkCandidate::protect);
            }
            candidates.extend(link);
        }
    }
    relatives::compare(&mut candidates);
    let base = rate(readings, &mut candidates, &mut search);
    Links {
        candidates,
        base,
        targets: search.targets.len(),
        is_cut,
    }
}

impl Links {
    /// Decides under one allowlist.
    pub(crate) fn decide(&self, allowed: &Allowlist) -> LinkDecision {
        choose(&self.judged(allowed))
    }

    /// Describes the best links under one allowlist, best first.
    pub(crate) fn explain(&self, allowed: &Allowlist) -> Vec<ConsideredLink> {
        let judged = self.judged(allowed);
        judged
            .iter()
            .take(EXPLAINED)
            .map(JudgedLink::considered)
            .collect()
    }

    /// Every link under one allowlist. One that the allowlist admits is judged only beside
    /// other admitted ones: a link that it refuses is no rival.
    fn beside_admitted<'l>(&self, allowed: &'l Allowlist) -> Vec<JudgedLink<'_, 'l>> {
        let all = self
            .candidates
            .iter()
            .map(|link| JudgedLink::of(link, allowed));
        let mut all: Vec<JudgedLink<'_, 'l>> = all.collect();
        let mut admitted: Vec<&mut JudgedLink<'_, 'l>> =
            all.iter_mut().filter(|one| one.rule.is_ok()).collect();
        if admitted.len() < self.candidates.len() {
            let links: Vec<&LinkCandidate> = admitted.iter().map(|one| one.link).collect();
            let odds = target::judge(&links, self.base);
            for (one, odds) in admitted.iter_mut().zip(odds) {
                one.score = odds;
            }
        }
        all
    }

    /// Every link under one allowlist, best first, each target once.
    fn judged<'l>(&self, allowed: &'l Allowlist) -> Vec<JudgedLink<'_, 'l>> {
        let mut kept: Vec<JudgedLink<'_, 'l>> = Vec::with_capacity(self.candidates.len());
        let mut by_target: Vec<Option<usize>> = vec![None; self.targets];
        for judged in self.beside_admitted(allowed) {
            let link = judged.link;
            let target = link.target.filter(|_| judged.rule.is_ok());
            let Some(known) = target.and_then(|target| by_target.get_mut(target)) else {
                kept.push(judged);
                continue;
            };
            if let Some(twin) = known.and_then(|at| kept.get_mut(at)) {
                twin.merge(judged);
            } else {
                *known = Some(kept.len());
                kept.push(judged);
            }
        }
        kept.sort_by_key(|one| (std::cmp::Reverse(one.score), one.link.source, one.link.at));
        kept
    }
}
