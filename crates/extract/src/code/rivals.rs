//! Whether values of one mail exclude each other.

use super::needs::{RIVAL, RIVAL_LABELLED, RIVAL_POINTS, SUPPORT, THRESHOLD};
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

/// Whether another value may be the code as well: "Your email code is 111111 and your phone code
/// is 222222".
///
/// The trees give little to the worse of two, however good it is. So it also counts how the
/// model rates it by itself: a stranger may have written the better one.
pub(super) fn is_second(one: &ScoredCode, best: &ScoredCode) -> bool {
    if one.candidate.shape != best.candidate.shape {
        return false;
    }
    let is_good = one.rated >= RIVAL && one.points >= RIVAL_POINTS;
    let are_labelled = one.label.is_some() && best.label.is_some() && one.source == best.source;
    is_good || are_labelled && is_second_labelled(one, best)
}

/// The same for two labelled values. Those of one length are also hard to tell apart if their
/// labels are not direct.
fn is_second_labelled(one: &ScoredCode, best: &ScoredCode) -> bool {
    let is_direct = |code: &ScoredCode| code.rules.contains(&Rule::LabelDirect);
    if is_direct(one) && is_direct(best) && one.odds.max(one.rated) >= RIVAL_LABELLED {
        return true;
    }
    let is_supported = one.points >= SUPPORT || best.rated - one.rated < UNIT;
    one.candidate.compact.len() == best.candidate.compact.len()
        && (one.odds >= 0 || one.rated >= 0 && is_supported)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::shape::Shape;

    const SIX: &str = "482913";

    /// A code with a label, and a second value with the same or another one.
    fn labelled(value: &str, odds: i32, label: usize) -> ScoredCode {
        ScoredCode {
            label: Some(label),
            ..ScoredCode::example(value, odds)
        }
    }

    fn direct(value: &str, odds: i32) -> ScoredCode {
        ScoredCode {
            rules: vec![Rule::LabelDirect],
            ..labelled(value, odds, 9)
        }
    }

    #[test]
    fn value_below_the_same_label_counts_above_27_percent() {
        let best = labelled(SIX, 99, 5);
        assert!(is_sibling(&labelled("640275", -31, 5), &best));
        assert!(!is_sibling(&labelled("640275", -32, 5), &best));
        assert!(!is_sibling(&labelled("640275", -31, 6), &best));
        assert!(!is_sibling(&labelled("64027", -31, 5), &best));
    }

    #[test]
    fn value_that_is_good_by_itself_needs_no_label() {
        let best = ScoredCode::example(SIX, 99);
        let second = |rated, points| {
            let one = ScoredCode::example("64027", -99);
            is_second(
                &ScoredCode {
                    points,
                    rated,
                    ..one
                },
                &best,
            )
        };
        assert!(second(16, 45));
        assert!(!second(15, 45));
        assert!(!second(16, 44));
        let mut word = ScoredCode::example("64027", -99);
        (word.rated, word.points) = (99, 99);
        word.candidate.shape = Shape::Mixed;
        assert!(!is_second(&word, &best));
    }

    #[test]
    fn second_direct_label_counts_at_27_percent_for_every_length() {
        let best = direct(SIX, 99);
        for value in ["640275", "64027", "64027519"] {
            for (odds, rated) in [(-32, -99), (-99, -32)] {
                let one = |less| ScoredCode {
                    rated: rated - less,
                    ..direct(value, odds - less)
                };
                assert!(is_second(&one(0), &best), "{value}");
                assert!(!is_second(&one(1), &best), "{value}");
                assert!(!is_second(&one(0), &labelled(SIX, 99, 9)), "{value}");
                let mut other = one(0);
                other.source = TextSource::Html;
                assert!(!is_second(&other, &best), "{value}");
            }
        }
    }

    #[test]
    fn second_label_of_one_length_counts_at_even_odds() {
        let best = ScoredCode {
            rated: 60,
            ..labelled(SIX, 99, 5)
        };
        let second = |value, (odds, rated, points)| {
            let one = labelled(value, odds, 9);
            is_second(
                &ScoredCode {
                    points,
                    rated,
                    ..one
                },
                &best,
            )
        };
        for (facts, counts) in [
            ((0, -99, 0), true),
            ((-1, -99, 0), false),
            ((-99, 0, 60), true),
            ((-99, -1, 60), false),
            ((-99, 0, 59), false),
        ] {
            assert_eq!(second("640275", facts), counts, "{facts:?}");
            assert!(!second("64027", facts), "{facts:?}");
        }
        let near = |rated| {
            let best = ScoredCode {
                rated: 32,
                ..labelled(SIX, 99, 5)
            };
            let one = labelled("640275", -99, 9);
            is_second(&ScoredCode { rated, ..one }, &best)
        };
        assert!(near(1) && !near(0), "less than one unit behind the best");
    }

    #[test]
    fn text_and_html_disagree_if_each_has_a_good_code() {
        let code = |value, source, odds, points| ScoredCode {
            source,
            points,
            ..ScoredCode::example(value, odds)
        };
        let text = code(SIX, TextSource::Text, 99, 0);
        for (odds, points, counts) in [
            (24, 0, true),
            (23, 0, false),
            (-99, 60, true),
            (-99, 59, false),
        ] {
            let html = code("640275", TextSource::Html, odds, points);
            assert_eq!(disagree(&[text.clone(), html]), counts, "{odds} {points}");
        }
        let same = code(SIX, TextSource::Html, 99, 0);
        assert!(!disagree(&[text, same]));
    }

    #[test]
    fn value_with_up_to_four_capitals_before_it_is_the_same() {
        assert!(is_same("482913", "482913") && is_same("g482913", "482913"));
        assert!(is_same("482913", "ABCD482913"));
        assert!(!is_same("482913", "ABCDE482913"));
        assert!(!is_same("ABC123", "123") && !is_same("1482913", "482913"));
    }
}
