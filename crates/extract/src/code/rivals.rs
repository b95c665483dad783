//! Whether values of one mail exclude each other.

use super::needs::{SUPPORT, THRESHOLD};
use super::rule::Rule;
use super::score::ScoredCode;
use crate::model::UNIT;
use crate::reading::TextSource;

/// "Your codes: 111111 for this, 222222 for that": two values share one label.
pub(super) fn is_sibling(one: &ScoredCode, best: &ScoredCode) -> bool {
    let alike = one.candidate.shape == best.candidate.shape
        && one.candidate.compact.len() == best.candidate.compact.len();
    let shared = one.label.is_some() && one.label == best.label && one.source == best.source;
    alike && shared && one.odds > -UNIT && !one.candidate.shape.is_wordlike()
}

/// "Your email code is 111111 and your phone code is 222222": two labelled codes.
pub(super) fn is_second(one: &ScoredCode, best: &ScoredCode) -> bool {
    let labelled = one.label.is_some() && best.label.is_some() && one.source == best.source;
    if !labelled || one.candidate.shape != best.candidate.shape {
        return false;
    }
    // The trees give little to the worse of two, however good it is. So it also counts how
    // the model rates it by itself: a stranger may have written the better one.
    let is_direct = |code: &ScoredCode| code.rules.contains(&Rule::LabelDirect);
    let are_direct = is_direct(one) && is_direct(best);
    if one.candidate.compact.len() == best.candidate.compact.len() {
        let is_supported = one.points >= SUPPORT || best.rated - one.rated < UNIT;
        one.odds >= 0 || one.rated >= 0 && is_supported || one.rated >= -UNIT && are_direct
    } else {
        // The model gives little to a second label, so low odds count.
        are_direct && one.odds.max(one.rated) >= -2 * UNIT
    }
}

/// Whether the text and the HTML each have a good code, and the codes differ.
pub(super) fn disagree(scored: &[ScoredCode]) -> bool {
    let best = |source| {
        scored
            .iter()
            .find(|one| one.source == source && (one.odds >= THRESHOLD || one.points >= SUPPORT))
    };
    let (Some(text), Some(html)) = (best(TextSource::Text), best(TextSource::Html)) else {
        return false;
    };
    let appears = |compact: &str, source| {
        scored
            .iter()
            .any(|one| one.source == source && is_same(&one.candidate.compact, compact))
    };
    !is_same(&text.candidate.compact, &html.candidate.compact)
        && (!appears(&text.candidate.compact, TextSource::Html)
            || !appears(&html.candidate.compact, TextSource::Text))
}

/// Whether the values are equal, or equal but for a prefix of capitals.
pub(super) fn is_same(a: &str, b: &str) -> bool {
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
