//! Whether the text around a value hands it to the reader.

use std::ops::Range;

use super::context::Context;
use crate::lexicon::{Hit, Sense};
use crate::reading::Stress;

/// Whether the text near asks for something, or names a secret directly before.
pub(super) fn is_asked_for(range: &Range<usize>, context: &Context<'_>) -> bool {
    const BEFORE: usize = 160;
    const AFTER: usize = 60;
    let cues = &context.concepts().cues;
    let says = |near: Range<usize>, cue: Sense| {
        let near = terms_in(&near, cues);
        near.iter().any(|hit| hit.sense.says(cue))
    };
    let before = context.text().get(..range.start).unwrap_or_default();
    let is_announced = before
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '*'))
        .ends_with(':');
    let near = |bytes: usize| range.start.saturating_sub(bytes)..range.start;
    let names = |near: Range<usize>, what: Sense| {
        let near = terms_in(&near, &context.hits);
        near.iter().rev().find(|hit| hit.sense.says(what))
    };
    let label = Sense::CODE.or(Sense::WORD);
    let has_label = names(near(3), label).is_some();
    // "the code is"
    let is_equal = names(near(3), Sense::IS)
        .is_some_and(|is| names(is.start().saturating_sub(2)..is.start(), label).is_some());
    says(near(BEFORE), Sense::ASK)
        || says(range.end..range.end + AFTER, Sense::ASK)
        || is_announced && says(near(AFTER), Sense::THING)
        || has_label
        || is_equal
}

/// Whether a value stands out from its sentence: it is bold, it is between two signs, or a
/// label or a word that asks for it comes directly before.
pub(super) fn is_presented(range: &Range<usize>, context: &Context<'_>) -> bool {
    is_quoted(context.text(), range)
        || is_named(context.text(), range.start, &context.hits)
        || context.reading.stress(range) == Stress::Alone
        || is_asked_directly(range.start, context)
}

/// Whether a word that asks for something comes before, with at most a short word between.
pub(super) fn is_asked_directly(start: usize, context: &Context<'_>) -> bool {
    const NEAR: usize = 10;
    let cues = &context.concepts().cues;
    let before = cues.partition_point(|hit| hit.end() <= start);
    let last = before.checked_sub(1).and_then(|last| cues.get(last));
    last.filter(|hit| hit.sense.says(Sense::ASK))
        .is_some_and(|hit| {
            let gap = context.text().get(hit.end()..start).unwrap_or("?");
            gap.len() <= NEAR && gap.chars().all(|c| c == ' ' || c.is_alphabetic())
        })
}

/// Whether a range is in quotation marks, or between other signs that come in pairs.
fn is_quoted(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let is_between = |from: char, until: char| before.ends_with(from) && after.starts_with(until);
    ['"', '\'', '*'].iter().any(|sign| is_between(*sign, *sign))
        || is_between('「', '」')
        || is_between('[', ']')
}

/// Whether a label, or a word that asks to enter something, comes directly before.
fn is_named(text: &str, start: usize, hits: &[Hit]) -> bool {
    let before = hits.partition_point(|hit| hit.end() <= start);
    let last = before.checked_sub(1).and_then(|last| hits.get(last));
    let names = Sense::CODE.or(Sense::WORD).or(Sense::IS).or(Sense::ENTER);
    last.is_some_and(|hit| {
        let gap = text.get(hit.end()..start).unwrap_or("?");
        matches!(gap, " " | ": ") && hit.sense.says(names)
    })
}

/// The terms that overlap a range.
pub(super) fn terms_in<'h>(range: &Range<usize>, hits: &'h [Hit]) -> &'h [Hit] {
    let from = hits.partition_point(|hit| hit.end() <= range.start);
    let until = hits.partition_point(|hit| hit.start() < range.end);
    hits.get(from..until).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::Memory;
    use crate::reading::{Reading, TextSource};
    use crate::steps::Steps;

    fn with(text: &str, holds: impl Fn(&Range<usize>, &Context<'_>) -> bool) -> bool {
        let steps = Steps::for_size(text.len());
        let reading = Reading::of_line(TextSource::Text, text);
        let context = Context::of(&reading, &mut Memory::default(), &steps);
        let at = text.find("24.99").unwrap();
        holds(&(at..at + 5), &context)
    }

    #[test]
    fn value_in_signs_or_after_a_request_or_a_label_is_presented() {
        for text in [
            "say \"24.99\" to him",
            "say *24.99* to him",
            "please enter 24.99 there",
            "your code is 24.99, dot included",
            "please write exactly 24.99 there",
        ] {
            assert!(with(text, is_presented), "{text}");
        }
        for text in [
            "the lamp for 24.99",
            "we owe 24.99 to Ann",
            "\"the lamp 24.99\"",
        ] {
            assert!(!with(text, is_presented), "{text}");
        }
    }

    #[test]
    fn value_near_a_request_or_after_a_label_is_asked_for() {
        for text in [
            "please enter the following on the page: 24.99",
            "24.99 is what you type there",
            "your verification code is 24.99",
        ] {
            assert!(with(text, is_asked_for), "{text}");
        }
        assert!(!with("the lamp that we saw: 24.99", is_asked_for));
    }
}
