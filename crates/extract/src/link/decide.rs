//! One action link, or none.

use url::Url;

use super::classify::{LinkRule, classify};
use super::collect::{Found, collect};
use super::gate::{Destination, Rejection, judge};
use super::host;
use crate::lexicon::{Sense, link_hits};
use crate::reading::{Reading, Source};
use crate::{Allowlist, Flag, Link, LinkKind, Reason, Verdict};

/// What a link needs.
const THRESHOLD: i32 = 60;
/// How far ahead of the next one the best has to be.
const MARGIN: i32 = 15;

/// The verdict and what it rests on.
#[derive(Debug)]
pub(crate) struct LinkFinding {
    pub(crate) verdict: Verdict<Link>,
    pub(crate) flags: Vec<Flag>,
    pub(crate) considered: Vec<ConsideredLink>,
}

/// A link and its points, without its address.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ConsideredLink {
    /// Where it stands.
    pub source: Source,
    /// The place in the decoded source, in bytes.
    pub at: usize,
    /// The host it leads to, if the gate let it pass.
    pub host: Option<String>,
    /// What it does.
    pub kind: LinkKind,
    /// All points together.
    pub score: i32,
    /// What gave and took the points.
    pub rules: Vec<(LinkRule, i32)>,
    /// Why the gate refused it.
    pub rejected: Option<Rejection>,
}

struct Scored {
    found: Found,
    judged: Result<Destination, Rejection>,
    kind: LinkKind,
    rules: Vec<LinkRule>,
    score: i32,
    at: usize,
}

/// Finds the action link in the readings of one mail.
pub(crate) fn find(readings: &[Reading], allowed: &Allowlist) -> LinkFinding {
    let subject = readings
        .iter()
        .filter(|reading| reading.source == Source::Subject)
        .flat_map(|reading| link_hits(reading.text()))
        .fold(Sense::default(), |all, hit| all.or(hit.sense));
    let mut flags = Vec::new();
    let mut scored: Vec<Scored> = Vec::new();
    for reading in readings
        .iter()
        .filter(|reading| reading.source != Source::Subject)
    {
        for found in collect(reading) {
            let at = reading.folded.source(found.at);
            scored.extend(score(found, at, subject, allowed, &mut flags));
        }
    }
    repeat(&mut scored);
    scored.sort_by(|a, b| {
        b.score
            .cmp(&a.score)
            .then(a.found.source.cmp(&b.found.source))
            .then(a.at.cmp(&b.at))
    });
    let verdict = decide(&scored, &mut flags);
    let considered = scored.iter().take(20).map(considered).collect();
    LinkFinding {
        verdict,
        flags,
        considered,
    }
}

fn score(
    found: Found,
    at: usize,
    subject: Sense,
    allowed: &Allowlist,
    flags: &mut Vec<Flag>,
) -> Option<Scored> {
    let mut judged = judge(&found.href, allowed);
    let shown = match &judged {
        Ok(destination) => Url::parse(&destination.url).ok()?,
        Err(_) => Url::parse(&found.href)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))?,
    };
    if let (Some(shown), Ok(destination)) = (&found.shown_host, &judged)
        && !is_same_site(shown, &destination.host)
    {
        flags.push(Flag::TextHostMismatch);
        judged = Err(Rejection::TextHostMismatch);
    }
    let opaque = judged == Err(Rejection::WrappedOpaque);
    let (kind, rules) = classify(&found, &shown, subject, opaque);
    let score = rules.iter().map(|rule| rule.points()).sum();
    Some(Scored {
        found,
        judged,
        kind,
        rules,
        score,
        at,
    })
}

fn is_same_site(shown: &str, host: &str) -> bool {
    shown == host
        || host::registrable(shown).is_some_and(|site| host::registrable(host) == Some(site))
}

/// The same address twice is one link, and the better for it.
fn repeat(scored: &mut Vec<Scored>) {
    let mut kept: Vec<Scored> = Vec::new();
    for one in scored.drain(..) {
        let address = |other: &Scored| {
            other
                .judged
                .as_ref()
                .map(|destination| destination.url.clone())
                .ok()
        };
        let twin = kept
            .iter_mut()
            .find(|other| address(other).is_some() && address(other) == address(&one));
        match twin {
            None => kept.push(one),
            // What is protected once is protected everywhere.
            Some(twin) if twin.kind.is_protected() && twin.rules.is_empty() => {}
            Some(twin) => {
                if one.rules.is_empty() || one.score > twin.score {
                    *twin = one;
                }
                if !twin.rules.is_empty() && !twin.rules.contains(&LinkRule::Repeated) {
                    twin.rules.push(LinkRule::Repeated);
                    twin.score = twin.rules.iter().map(|rule| rule.points()).sum();
                }
            }
        }
    }
    *scored = kept;
}

fn decide(scored: &[Scored], flags: &mut Vec<Flag>) -> Verdict<Link> {
    let strong = || {
        scored
            .iter()
            .filter(|one| one.score >= THRESHOLD && !one.kind.is_protected())
    };
    let refused: Vec<Rejection> = strong()
        .filter_map(|one| one.judged.as_ref().err().copied())
        .collect();
    if refused.contains(&Rejection::WrappedOpaque) {
        flags.push(Flag::OpaqueLinks);
    }
    let mut passed = strong().filter_map(|one| {
        one.judged
            .as_ref()
            .ok()
            .map(|destination| (one, destination))
    });
    let Some((best, destination)) = passed.next() else {
        return match refused.first() {
            Some(rejection) => Verdict::Withheld(reason(*rejection)),
            None => Verdict::Nothing(absence(scored)),
        };
    };
    if passed
        .next()
        .is_some_and(|(next, _)| best.score - next.score < MARGIN)
    {
        return Verdict::Withheld(Reason::Ambiguous);
    }
    if !refused.is_empty() {
        flags.push(Flag::OtherLinks);
    }
    Verdict::Found(Link {
        url: destination.url.clone(),
        host: destination.host.clone(),
        registrable: destination.registrable.clone(),
        kind: best.kind,
        rule: destination.rule.clone(),
        unwrapped: destination.unwrapped.clone(),
        confidence: u8::try_from(best.score.clamp(0, 99)).unwrap_or(99),
    })
}

fn reason(rejection: Rejection) -> Reason {
    match rejection {
        Rejection::NotAllowed => Reason::HostNotAllowed,
        Rejection::WrappedOpaque => Reason::WrappedOpaque,
        _ => Reason::UnsafeLink,
    }
}

fn absence(scored: &[Scored]) -> Reason {
    let harmful = |one: &Scored| matches!(one.kind, LinkKind::Delete | LinkKind::DenyOrRevoke);
    if scored.iter().any(harmful) {
        Reason::ProtectedLink
    } else if scored.is_empty() {
        Reason::NoCandidate
    } else {
        Reason::NotConvincing
    }
}

fn considered(one: &Scored) -> ConsideredLink {
    ConsideredLink {
        source: one.found.source,
        at: one.at,
        host: one
            .judged
            .as_ref()
            .ok()
            .map(|destination| destination.host.clone()),
        kind: one.kind,
        score: one.score,
        rules: one
            .rules
            .iter()
            .map(|rule| (*rule, rule.points()))
            .collect(),
        rejected: one.judged.as_ref().err().copied(),
    }
}
