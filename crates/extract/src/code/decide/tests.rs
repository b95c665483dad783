//! The odds that each kind of value needs, with the numbers written out: 32 are one unit.

use super::*;

fn with(shape: Shape, odds: i32, points: i32) -> ScoredCode {
    let mut code = ScoredCode::example("482913", odds);
    code.candidate.shape = shape;
    code.points = points;
    code
}

fn is_found(scored: &[ScoredCode]) -> bool {
    decide(scored, false, 0).found().is_some()
}

#[test]
fn value_needs_the_odds_of_its_shape() {
    for (shape, points, needed) in [
        (Shape::Digits, 0, 24),
        (Shape::Digits, 89, 24),
        (Shape::Digits, 90, 0),
        (Shape::Mixed, 0, 24),
        (Shape::Mixed, 90, 0),
        (Shape::Words, 0, 48),
        (Shape::Words, 90, 24),
        (Shape::SmallLetters, 0, 64),
        (Shape::SmallLetters, 89, 64),
        (Shape::SmallLetters, 90, 24),
    ] {
        assert!(is_found(&[with(shape, needed, points)]), "{shape:?}");
        assert!(!is_found(&[with(shape, needed - 1, points)]), "{shape:?}");
    }
}

#[test]
fn form_that_the_caller_expects_gives_half_a_unit() {
    let expected = |odds| {
        let scored = [with(Shape::Digits, odds, 0)];
        decide(&scored, false, EXPECTED).found().is_some()
    };
    assert!(expected(8) && !expected(7));
}

#[test]
fn best_value_must_be_two_units_ahead_of_a_good_one() {
    let beside = |best, odds| {
        let rival = ScoredCode {
            rated: -99,
            ..ScoredCode::example("64027", odds)
        };
        is_found(&[ScoredCode::example("482913", best), rival])
    };
    assert!(beside(88, 24) && !beside(87, 24));
    assert!(beside(50, 17) && !beside(50, 18), "a rival one unit behind");
}

#[test]
fn words_with_less_odds_are_not_convincing() {
    let decided = decide(&[with(Shape::SmallLetters, 63, 0)], false, 0);
    assert_eq!(decided, Extraction::Nothing(AbstainReason::NotConvincing));
}
