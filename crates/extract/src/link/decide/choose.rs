//! Chooses the action link among the judged ones, or says why there is none.

use super::judged::SURE;
use super::{JudgedLink, LinkDecision, MARGIN};
use crate::extraction::{AbstainReason, Extraction, Link, LinkKind};
use crate::flag::Flag;
use crate::link::rule::LinkRule;
use crate::model::percent;
use crate::rejection::Rejection;

pub(super) fn choose(judged: &[JudgedLink<'_, '_>]) -> LinkDecision {
    let mut flags = Vec::new();
    let mismatch = Err(Rejection::TextHostMismatch);
    if judged.iter().any(|one| one.rule == mismatch) {
        flags.push(Flag::TextHostMismatch);
    }
    let actions = || judged.iter().filter(|one| one.is_action());
    let likely = judged
        .iter()
        .filter(|one| one.is_action() || one.is_supported());
    let refused: Vec<(Rejection, &JudgedLink<'_, '_>)> = likely
        .filter_map(|one| Some((one.rule.err()?, one)))
        .collect();
    let is_opaque = |(rejection, _): &(Rejection, _)| *rejection == Rejection::WrappedOpaque;
    if refused.iter().any(is_opaque) {
        flags.push(Flag::OpaqueLinks);
    }
    let mut passed = actions().filter_map(|one| {
        let checked = one.link.checked.as_ref().ok()?;
        Some((one, checked.destination(one.rule.ok()?.to_owned())))
    });
    let Some((best, destination)) = passed.next() else {
        let extraction = match refused.first() {
            Some((rejection, _)) => Extraction::Withheld(reason(*rejection)),
            None => Extraction::Nothing(absence(judged)),
        };
        return LinkDecision {
            extraction,
            flags,
            refused_host: refused.first().and_then(not_allowed_host),
        };
    };
    let is_ambiguous = best.has_ambiguous_label && !is_told_apart(best, judged)
        || passed
            .find(|(next, _)| next.link.page != best.link.page && !is_copy(next, best, judged))
            .is_some_and(|(next, _)| best.score - next.score < MARGIN)
        || judged
            .iter()
            .any(|one| is_good_too(one, best) && !is_copy(one, best, judged));
    let withheld = match (is_ambiguous, best.link.is_unclear) {
        (true, _) => Some(AbstainReason::Ambiguous),
        (false, true) => Some(AbstainReason::MaybeHidden),
        (false, false) => None,
    };
    if let Some(reason) = withheld {
        return without_refused_host(Extraction::Withheld(reason), flags);
    }
    if !refused.is_empty() {
        flags.push(Flag::OtherLinks);
    }
    let extraction = Extraction::Found(Link {
        url: destination.url,
        host: destination.host,
        registrable: destination.registrable,
        kind: best.classified.kind,
        rule: destination.rule,
        unwrapped: destination.unwrapped,
        confidence: percent(best.score),
    });
    without_refused_host(extraction, flags)
}

/// Whether another link is good by itself. The rules support it, and one of these holds: the
/// model rates it as an action, only the token differs, or both have the same label, which names
/// the action. The trees give little to the worse of two, and a stranger may have written the
/// better one.
fn is_good_too(one: &JudgedLink<'_, '_>, best: &JudgedLink<'_, '_>) -> bool {
    // The first line of a page is the URL without its parameters.
    let has_same_path = one.link.page.lines().next() == best.link.page.lines().next();
    let names_action = best.classified.rules.contains(&LinkRule::Label);
    let has_same_label = names_action && has_label_of(one, best);
    one.rule.is_ok()
        && one.link.page != best.link.page
        && one.is_supported()
        && !one.classified.is_protected()
        && (one.link.rated >= 0 || has_same_path || has_same_label)
}

/// Whether `one` and `best` are one link, written in the text and in the HTML. Services that count
/// clicks often change only the URLs of the HTML. Both are of one site, and no third link has their
/// label.
fn is_copy(
    one: &JudgedLink<'_, '_>,
    best: &JudgedLink<'_, '_>,
    judged: &[JudgedLink<'_, '_>],
) -> bool {
    fn site<'j>(one: &'j JudgedLink<'_, '_>) -> Option<&'j str> {
        one.link.checked.as_ref().ok()?.registrable()
    }
    let is_named_alike = |one: &&JudgedLink<'_, '_>| has_label_of(one, best);
    one.link.source != best.link.source
        && !one.is_in_both
        && !best.is_in_both
        && site(one).is_some_and(|own| site(best) == Some(own))
        && has_label_of(one, best)
        && judged.iter().filter(is_named_alike).count() == 2
}

fn has_label_of(one: &JudgedLink<'_, '_>, other: &JudgedLink<'_, '_>) -> bool {
    let labels = one.link.label.as_ref().zip(other.link.label.as_ref());
    labels.is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
}

/// Whether a link differs clearly from the others with an ambiguous label: its own words name
/// the action, and the model gives at least 95 % to it and at most 5 % to each other.
fn is_told_apart(best: &JudgedLink<'_, '_>, judged: &[JudgedLink<'_, '_>]) -> bool {
    let others = judged
        .iter()
        .filter(|one| one.link.page != best.link.page && one.has_ambiguous_label);
    let is_own = |rule: &LinkRule| rule.names_the_link() && *rule != LinkRule::CallAbove;
    let is_named = best.classified.rules.iter().any(is_own);
    is_named && best.score >= SURE && others.map(|one| one.score).all(|score| score <= -SURE)
}

fn without_refused_host(extraction: Extraction<Link>, flags: Vec<Flag>) -> LinkDecision {
    LinkDecision {
        extraction,
        flags,
        refused_host: None,
    }
}

/// The registrable domain of a link that only the allowlist refuses.
fn not_allowed_host((rejection, one): &(Rejection, &JudgedLink<'_, '_>)) -> Option<String> {
    let checked = one.link.checked.as_ref().ok()?;
    let is_listed_nowhere = *rejection == Rejection::NotAllowed;
    is_listed_nowhere
        .then(|| checked.registrable().map(str::to_owned))
        .flatten()
}

fn reason(rejection: Rejection) -> AbstainReason {
    match rejection {
        Rejection::NotAllowed => AbstainReason::HostNotAllowed,
        Rejection::WrappedOpaque => AbstainReason::WrappedOpaque,
        _ => AbstainReason::UnsafeLink,
    }
}

fn absence(judged: &[JudgedLink<'_, '_>]) -> AbstainReason {
    let is_harmful = |one: &JudgedLink<'_, '_>| {
        matches!(
            one.classified.kind,
            LinkKind::Delete | LinkKind::DenyOrRevoke
        )
    };
    if judged.iter().any(is_harmful) {
        AbstainReason::ProtectedLink
    } else if judged.is_empty() {
        AbstainReason::NoCandidate
    } else {
        AbstainReason::NotConvincing
    }
}
