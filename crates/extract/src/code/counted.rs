//! Whether a number is an amount or a measure: `12 EUR`, `KM 40`.

use std::ops::Range;

use super::number::is_digits;
use super::shape::Shape;
use crate::lexicon::{Hit, Sense};

/// Words of English that are codes of currencies in capitals: "please try 482913".
const WORDS_LIKE_MONEY: [&str; 3] = ["cop", "pen", "try"];

/// Whether a unit follows directly, or money stands directly before or after.
pub(super) fn is_counted(text: &str, range: &Range<usize>, shape: Shape, hits: &[Hit]) -> bool {
    let is_number = matches!(shape, Shape::Digits | Shape::Grouped);
    let next = hits.partition_point(|hit| hit.start() < range.end);
    let follows = hits.get(next).is_some_and(|hit| {
        let gap = text.get(range.end..hit.start()).unwrap_or("?");
        is_number && hit.sense.says(Sense::UNIT.or(Sense::MONEY)) && matches!(gap, "" | " " | "-")
    });
    let prefixed = hits
        .get(hits.partition_point(|hit| hit.start() < range.start))
        .is_some_and(|hit| {
            let rest = text.get(hit.end()..range.end).unwrap_or_default();
            let number = rest.strip_prefix('-');
            // One letter that names money comes after the amount, and no dash before a long one.
            hit.start() == range.start
                && hit.end() > range.start + 1
                && is_digits(number.unwrap_or(rest))
                && (number.is_none() || rest.len() < 5)
                && hit.sense.says(Sense::MONEY)
        });
    let previous = hits
        .partition_point(|hit| hit.end() <= range.start)
        .checked_sub(1)
        .and_then(|at| hits.get(at));
    let precedes = previous.is_some_and(|hit| {
        let gap = text.get(hit.end()..range.start).unwrap_or("?");
        let written = text.get(hit.range()).unwrap_or_default();
        is_number
            && hit.sense.says(Sense::MONEY)
            && !WORDS_LIKE_MONEY.contains(&written)
            && matches!(gap, "" | " " | "." | ". " | ":" | ": ")
    });
    follows || precedes || prefixed
}
