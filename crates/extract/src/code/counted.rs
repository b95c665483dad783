//! Whether a number is an amount or a measure: `12 EUR`, `KM 40`.

use std::ops::Range;

use super::number::is_digits;
use super::shape::Shape;
use crate::lexicon::{Hit, Sense};

/// Words of English that are codes of currencies, if they are written in capitals: "please try
/// 482913".
const WORDS_LIKE_MONEY: [&str; 3] = ["cop", "pen", "try"];
/// A longer number is no amount, if a dash joins it with the money: `EUR-1500`.
const LONGEST_JOINED: usize = 3;

/// Whether a unit follows directly, or money stands directly before or after.
pub(super) fn is_counted(text: &str, range: &Range<usize>, shape: Shape, hits: &[Hit]) -> bool {
    let is_number = matches!(shape, Shape::Digits | Shape::Grouped);
    let next = hits.partition_point(|hit| hit.start() < range.end);
    let follows = hits.get(next).is_some_and(|hit| {
        let gap = text.get(range.end..hit.start()).unwrap_or("?");
        let counts = hit.sense.says(Sense::UNIT) || is_money(text, hit);
        is_number && counts && matches!(gap, "" | " " | "-")
    });
    let prefixed = hits
        .get(hits.partition_point(|hit| hit.start() < range.start))
        .is_some_and(|hit| {
            let rest = text.get(hit.end()..range.end).unwrap_or_default();
            let number = rest.strip_prefix('-');
            // One letter that names money comes after the amount.
            hit.start() == range.start
                && hit.end() > range.start + 1
                && is_digits(number.unwrap_or(rest))
                && number.is_none_or(|number| number.len() <= LONGEST_JOINED)
                && hit.sense.says(Sense::MONEY)
        });
    let previous = hits
        .partition_point(|hit| hit.end() <= range.start)
        .checked_sub(1)
        .and_then(|at| hits.get(at));
    let precedes = previous.is_some_and(|hit| {
        let gap = text.get(hit.end()..range.start).unwrap_or("?");
        is_number && is_money(text, hit) && matches!(gap, "" | " " | "." | ". " | ":" | ": ")
    });
    follows || precedes || prefixed
}

fn is_money(text: &str, hit: &Hit) -> bool {
    let written = text.get(hit.range()).unwrap_or_default();
    let is_verb = WORDS_LIKE_MONEY
        .iter()
        .any(|word| word.eq_ignore_ascii_case(written))
        && written.contains(|c: char| c.is_ascii_lowercase());
    hit.sense.says(Sense::MONEY) && !is_verb
}
