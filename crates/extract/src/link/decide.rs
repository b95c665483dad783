//! Decides which link of a mail is the action link, or that none is.

mod choose;
mod judged;
mod odds;
mod relatives;

use std::collections::HashMap;

use url::Url;

use super::address::token_strength;
use super::classify::{Classified, LinkRule, Words};
use super::collect::{WrittenLink, collect};
use super::features;
use super::gate::{Checked, check};
use crate::allowlist::Allowlist;
use crate::extraction::{Extraction, Link, LinkKind};
use crate::flag::Flag;
use crate::host;
use crate::lexicon::{Sense, link_hits};
use crate::model::{Collector, Features, LINKS, UNIT};
use crate::reading::{Reading, TextSource};
use crate::rejection::Rejection;
use crate::steps::Steps;

use choose::choose;
use odds::rate;
pub(crate) use odds::seen_by_model;

/// How far the best link must be ahead of the next.
const MARGIN: i32 = UNIT;
/// Steps charged for checking and classifying a link, for a byte of its URL, and for a byte
/// of the text around it.
const PER_LINK: usize = 4_500;
const PER_BYTE: usize = 28;
const PER_WORD_BYTE: usize = 10;
/// How many links an explanation lists.
const EXPLAINED: usize = 20;

/// The links of one mail, checked and classified once. They can then be decided
/// under any number of allowlists.
#[derive(Debug)]
pub(crate) struct Links {
    candidates: Vec<LinkCandidate>,
    /// How many different targets the links have.
    targets: usize,
    /// The mail has more links than are examined.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
struct LinkCandidate {
    source: TextSource,
    /// Its byte offset in the decoded source.
    at: usize,
    checked: Result<Checked, Rejection>,
    /// The same number for the same target.
    target: Option<usize>,
    /// Its text names another host than the one it leads to.
    shows_other_host: bool,
    /// A person may or may not see it.
    is_unclear: bool,
    /// What it does by the URL in the mail.
    as_written: Classified,
    /// What it does by the URL inside its wrappers, where it has any.
    as_target: Option<Classified>,
    /// Its text, if it is short and no URL.
    label: Option<String>,
    /// Another link with this text leads to another place.
    has_ambiguous_label: bool,
    /// The URL that counts, for training.
    href: String,
    features: Features,
    /// The log odds that the model gives it.
    odds: i32,
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

/// What the links of one mail have in common while they are read.
struct Search<'s> {
    /// A number for each target.
    targets: HashMap<String, usize>,
    collector: Collector,
    steps: &'s Steps<'s>,
}

/// A link as one allowlist sees it.
struct JudgedLink<'m, 'l> {
    link: &'m LinkCandidate,
    classified: &'m Classified,
    /// The allowlist entry that admits it.
    rule: Result<&'l str, Rejection>,
    is_repeated: bool,
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
        collector: Collector::of(&LINKS),
        steps,
    };
    let mut is_cut = false;
    for reading in readings
        .iter()
        .filter(|reading| reading.source != TextSource::Subject)
    {
        let (collected, cut) = collect(reading, steps);
        is_cut |= cut;
        for written in collected {
            let at = reading.folded.source(written.at);
            let around = written.label.len() + written.sentence.len() + written.before.len();
            let bytes = PER_BYTE * written.href.len() + PER_WORD_BYTE * around;
            if !steps.charge(PER_LINK + bytes) {
                break;
            }
            let words = Words::of(&written, subject, steps);
            candidates.extend(LinkCandidate::of(&written, at, &words, &mut search));
        }
    }
    relatives::compare(&mut candidates);
    rate(readings, &mut candidates, &mut search);
    Links {
        candidates,
        targets: search.targets.len(),
        is_cut,
    }
}

impl LinkCandidate {
    /// Nothing for what is no web link at all, such as `mailto:`.
    fn of(
        written: &WrittenLink,
        at: usize,
        words: &Words,
        search: &mut Search<'_>,
    ) -> Option<Self> {
        let url = Url::parse(&written.href)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let checked = check(&written.href);
        let is_opaque = checked.as_ref().is_ok_and(Checked::is_opaque);
        let target = checked.as_ref().ok().map(|checked| {
            let next = search.targets.len();
            *search
                .targets
                .entry(checked.url.to_string())
                .or_insert(next)
        });
        let shows_other_host = match (&written.shown_host, &checked) {
            (Some(shown), Ok(checked)) => !is_same_site(shown, &checked.host),
            _ => false,
        };
        let as_target = checked
            .as_ref()
            .ok()
            .filter(|checked| checked.is_wrapped())
            .map(|checked| words.classify(&checked.url, false));
        let as_written = words.classify(&url, is_opaque);
        let (counts, rules) = match (&checked, &as_target) {
            (Ok(checked), Some(target)) => (&checked.url, &target.rules),
            _ => (&url, &as_written.rules),
        };
        let strength = if is_opaque { 3 } else { token_strength(counts) };
        let seen = (strength, &mut search.collector);
        let features = features::of_link(written, counts, rules, seen, search.steps);
        Some(Self {
            features,
            odds: i32::MIN,
            label: relatives::short_label(&written.label),
            has_ambiguous_label: false,
            href: counts.to_string(),
            source: written.source,
            at,
            target,
            shows_other_host,
            is_unclear: written.is_unclear,
            as_written,
            as_target,
            checked,
        })
    }

    /// Says that the link must not be followed.
    fn protect(&mut self) {
        self.as_written.rules.clear();
        if let Some(target) = &mut self.as_target {
            target.rules.clear();
        }
    }

    fn judge<'l>(&self, allowed: &'l Allowlist) -> JudgedLink<'_, 'l> {
        let admitted = match &self.checked {
            Ok(checked) => checked.admit(allowed),
            Err(rejection) => Err(*rejection),
        };
        let classified = match (&admitted, &self.as_target) {
            (Ok(_), Some(target)) => target,
            _ => &self.as_written,
        };
        JudgedLink {
            link: self,
            classified,
            rule: admitted.and_then(|rule| {
                let mismatch = self.shows_other_host;
                (!mismatch)
                    .then_some(rule)
                    .ok_or(Rejection::TextHostMismatch)
            }),
            is_repeated: false,
            score: self.odds,
        }
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

    /// Every link under one allowlist, best first, each target once.
    fn judged<'l>(&self, allowed: &'l Allowlist) -> Vec<JudgedLink<'_, 'l>> {
        let mut kept: Vec<JudgedLink<'_, 'l>> = Vec::with_capacity(self.candidates.len());
        let mut by_target: Vec<Option<usize>> = vec![None; self.targets];
        for link in &self.candidates {
            let judged = link.judge(allowed);
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

fn is_same_site(shown: &str, host: &str) -> bool {
    shown == host
        || host::registrable(shown).is_some_and(|site| host::registrable(host) == Some(site))
}
