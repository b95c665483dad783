//! Codes of capitals and digits in groups of different lengths.

use super::apart::{is_set_apart, is_set_apart_whole};
use super::asked::{is_asked_directly, is_asked_for};
use super::context::Context;
use super::number::is_digits;
use super::run::Run;
use super::shape::Shape;
use super::token::Token;
use crate::lexicon::{Hit, Sense};
use crate::words::has_order;

/// The most groups and characters of such a code.
const MOST_GROUPS: usize = 5;
const LONGEST: usize = 13;
/// Groups of so many letters are hardly words.
const SHORT: usize = 2;

/// `KRT 907`, `8R4T 61`, `K-88 31 05`: groups one space apart, if they have a line of their
/// own, or come directly after a label, a colon or a word that asks for them, or if two groups
/// have both letters and digits. Three groups may stand anywhere if the text asks for something,
/// none can be a word, and the last one has letters. A group is no term that names a code.
pub(super) fn uneven_groups(context: &Context<'_>, tokens: &[Token], at: usize) -> Option<Run> {
    let (text, hits) = (context.text(), &context.hits);
    let first = tokens.get(at)?.range.clone();
    let (mut used, mut total, mut end) = (0, 0, first.start);
    let (mut any_letter, mut any_digit, mut mixed) = (false, false, 0);
    let (mut any_word, mut ends_with_letters) = (false, false);
    for token in tokens.get(at..)?.iter().take(MOST_GROUPS + 1) {
        let group = text.get(token.range.clone())?;
        let gap = text.get(end..token.range.start)?;
        let is_next = used == 0 || matches!(gap, " " | " - ");
        if !is_next || !is_group(group) || is_term(text, token, hits, used > 0) {
            break;
        }
        let has_letter = group.bytes().any(|byte| byte.is_ascii_uppercase());
        let has_digit = group.bytes().any(|byte| byte.is_ascii_digit());
        any_letter |= has_letter;
        any_digit |= has_digit;
        mixed += usize::from(has_letter && has_digit);
        any_word |= group.len() > SHORT && !is_mumbled(group);
        ends_with_letters = has_letter;
        total += group.len();
        used += 1;
        end = token.range.end;
    }
    let fits = (2..=MOST_GROUPS).contains(&used)
        && (4..=LONGEST).contains(&total)
        && any_letter
        && any_digit;
    // "ACME 482 913": the digits are the code.
    let name = text.get(first.clone())?;
    let is_name = name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let digits = text.get(first.end..end)?.bytes();
    let is_named = is_name
        && used > 2
        && digits
            .clone()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-'))
        && digits.filter(u8::is_ascii_digit).count() > 4;
    // Most tokens end here: what is around them is not looked at.
    if !fits || is_named {
        return None;
    }
    let range = first.start..end;
    let value = text.get(range.clone())?;
    if has_order(value) {
        return Some(Run::Nothing { used });
    }
    let is_apart = is_set_apart_whole(text, &range)
        || is_set_apart(text, &range) && ends_sentence(text, end)
        || is_labelled(text, first.start, hits)
        || is_asked_directly(first.start, context);
    let is_wanted = || used > 2 && !any_word && ends_with_letters && is_asked_for(&range, context);
    (is_apart || mixed > 1 || is_wanted()).then(|| Run::Code {
        value: value.to_owned(),
        range,
        shape: Shape::Dashed,
        used,
    })
}

/// Whether a sentence ends at an offset, and another one begins.
fn ends_sentence(text: &str, at: usize) -> bool {
    let after = text.get(at..).unwrap_or_default();
    let next = after.strip_prefix(". ");
    next.is_some_and(|next| next.starts_with(char::is_uppercase))
}

/// Whether a group has a digit, or is three capitals without a vowel.
fn is_mumbled(group: &str) -> bool {
    let is_silent = |byte: u8| byte.is_ascii_uppercase() && !b"AEIOUY".contains(&byte);
    let has_digit = group.bytes().any(|byte| byte.is_ascii_digit());
    has_digit || group.len() == 3 && group.bytes().all(is_silent)
}

/// Capitals, up to four digits, up to five of both, or a few of each with a dash between them.
fn is_group(group: &str) -> bool {
    let is_capitals = |group: &str| group.bytes().all(|byte| byte.is_ascii_uppercase());
    if let Some((letters, digits)) = group.split_once('-') {
        let fits = (1..=3).contains(&letters.len()) && digits.len() < 5;
        return fits && is_capitals(letters) && is_digits(digits);
    }
    let is_capitals = is_capitals(group);
    let is_mixed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    match group.len() {
        1..=4 => is_capitals || is_digits(group) || group.bytes().all(is_mixed),
        5 => !is_digits(group) && group.bytes().all(is_mixed),
        6..=9 => is_capitals,
        _ => false,
    }
}

/// What names the number that follows.
const NAMES: Sense = Sense::CODE
    .or(Sense::WORD)
    .or(Sense::NUMBER)
    .or(Sense::KIND)
    .or(Sense::MONEY);

/// Whether a term of a lexicon begins in the token. Of one or two letters, only one that names
/// what follows counts, unless the sentence is in capitals: `AZ` is an article in Hungarian.
fn is_term(text: &str, token: &Token, hits: &[Hit], is_behind: bool) -> bool {
    let before = text.get(..token.range.start).unwrap_or_default();
    let is_shouted = before.trim_end_matches(' ').ends_with(char::is_uppercase);
    // A unit stands behind its number.
    let unit = if is_behind {
        Sense::UNIT
    } else {
        Sense::default()
    };
    let names = NAMES.or(unit);
    let next = hits.partition_point(|hit| hit.start() < token.range.start);
    hits.get(next).is_some_and(|hit| {
        hit.start() < token.range.end
            && (token.range.len() > SHORT || is_shouted || hit.sense.says(names))
    })
}

/// Whether a label comes directly before.
fn is_labelled(text: &str, start: usize, hits: &[Hit]) -> bool {
    let last = hits
        .partition_point(|hit| hit.end() <= start)
        .checked_sub(1);
    last.and_then(|last| hits.get(last)).is_some_and(|hit| {
        let gap = text.get(hit.end()..start).unwrap_or("?");
        matches!(gap, " " | ": " | " \"" | ": \"") && hit.sense.says(Sense::CODE.or(Sense::WORD))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::token::tokens;
    use crate::lexicon::Memory;
    use crate::reading::Reading;
    use crate::steps::Steps;

    fn run_at(text: &str, start: &str) -> Option<String> {
        let tokens = tokens(text);
        let steps = Steps::for_size(text.len());
        let reading = Reading::of_text(text, 1_000, &steps);
        let context = Context::of(&reading, &mut Memory::default(), &steps);
        let at = text.find(start)?;
        let at = tokens.iter().position(|token| token.range.start == at)?;
        match uneven_groups(&context, &tokens, at)? {
            Run::Code { value, .. } => Some(value),
            Run::Nothing { .. } => None,
        }
    }

    #[test]
    fn groups_of_different_lengths_are_one_code() {
        for (text, code) in [
            ("Your code:\nKRT 907\n", "KRT 907"),
            ("the code KRT 907 now", "KRT 907"),
            ("Type this: OKL 5093 TY", "OKL 5093 TY"),
            ("x\n8R4T 61\ny", "8R4T 61"),
            ("write TR6 W0B 4 below", "TR6 W0B 4"),
            ("please enter HWZ 38 P there", "HWZ 38 P"),
            ("x\nLTQ 7 09 KX 4\ny", "LTQ 7 09 KX 4"),
        ] {
            assert_eq!(run_at(text, code).as_deref(), Some(code), "{text}");
        }
    }

    #[test]
    fn label_and_code_are_no_groups() {
        for (text, start) in [
            ("OTP 4821", "OTP"),
            ("we fly LH 402 today", "LH"),
            ("PIN 402", "PIN"),
            ("in EC1V 9 there", "EC1V"),
            ("in our garden HWZ 38 P grows", "HWZ"),
            ("please enter PAY 50 NOW there", "PAY"),
        ] {
            assert_eq!(run_at(text, start), None, "{text}");
        }
    }
}
