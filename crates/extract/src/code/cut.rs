//! Candidates that are a part of a longer value. To return them would be wrong, so they are none:
//! `4829` of `か-4829`, `0418` of `QN 0418`, `XK7Q` of `XK7Q+29`, `HTRV` of `HTRV 5520 KM`.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use super::asked::terms_in;
use super::candidate::Candidate;
use super::context::Context;
use super::shape::Shape;
use crate::lexicon::{Hit, Sense};

/// Whether a candidate is a part of more.
pub(super) fn is_cut(one: &Candidate, context: &Context<'_>) -> bool {
    let text = context.text();
    let before = text.get(..one.range.start).unwrap_or_default();
    let after = text.get(one.range.end..).unwrap_or_default();
    goes_on(one, after, &context.hits)
        || precedes_letter(one, after, context)
        || is_joined(before.chars().rev())
        || is_joined(after.chars())
        || follows_letters(one, before, context)
        || has_accents(one, context)
}

/// Whether a candidate is what is left of `phrase` without its letters outside ASCII, or its
/// beginning: `80551` of `Ж80551`, `HTRV 5520` of `HTRV 5520 KM`.
pub(super) fn is_cut_from(one: &Candidate, phrase: &Candidate) -> bool {
    let is_one_group = !phrase.value.contains(' ');
    phrase.shape == Shape::Dashed
        && (is_one_group || !phrase.value.contains(char::is_lowercase))
        && (!phrase.value.is_ascii() || one.range.start == phrase.range.start)
}

/// Whether the token after a space belongs to it: `5520` after `HTRV`, `914` after `V-206`, `B`
/// after `4829 13`.
fn goes_on(one: &Candidate, after: &str, hits: &[Hit]) -> bool {
    const SHORT: usize = 5;
    let Some(next) = after.strip_prefix(' ') else {
        return false;
    };
    match one.shape {
        Shape::Letters => next.starts_with(|c: char| c.is_ascii_digit()),
        Shape::Dashed if one.compact.len() <= SHORT && !one.value.contains(' ') => {
            let digits = next.bytes().take_while(u8::is_ascii_digit).count();
            let rest = next.get(digits..).unwrap_or_default();
            let end = one.range.end + 1 + digits;
            let counts = |hit: &Hit| hit.sense.says(Sense::UNIT.or(Sense::MONEY));
            // "Your code: XK-72 10 minutes left".
            let next_hit = hits.get(hits.partition_point(|hit| hit.start() < end));
            let is_measure = next_hit.is_some_and(|hit| hit.start() <= end + 1 && counts(hit));
            digits > 1 && !is_measure && !rest.starts_with([':', '-', '/', '%'])
        }
        Shape::Digits | Shape::Grouped => {
            let rest = next.strip_prefix(|c: char| c.is_ascii_uppercase());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c == ' ' || c.is_alphanumeric()))
        }
        _ => false,
    }
}

/// Whether a sign that joins parts comes next, and then a capital or a digit. A sentence may
/// end with the sign of `w7Gh2!kP`, and then no small letter and no digit comes next.
fn is_joined(mut chars: impl Iterator<Item = char>) -> bool {
    let (sign, next) = (chars.next(), chars.next());
    next.is_some_and(|next| match sign {
        Some('+' | '/' | '~' | '&' | '·' | '•') => {
            next.is_ascii_uppercase() || next.is_ascii_digit()
        }
        Some('!') => next.is_ascii_lowercase() || next.is_ascii_digit(),
        _ => false,
    })
}

/// Whether a dash and one letter of another script come next: `44-09` of `44-09-क`. A small
/// letter is an ending: `482-913-ը` is a code with an article.
fn precedes_letter(one: &Candidate, after: &str, context: &Context<'_>) -> bool {
    let mut letters = after.strip_prefix('-').unwrap_or_default().chars();
    let (Some(letter), next) = (letters.next(), letters.next()) else {
        return false;
    };
    let start = one.range.end + 1;
    let written = || {
        let range = start..start + letter.len_utf8();
        context.reading.folded.as_written(&range)
    };
    one.value.contains('-')
        && !letter.is_ascii()
        && letter.is_alphabetic()
        && !next.is_some_and(char::is_alphabetic)
        && written().is_some_and(|written| !written.chars().any(char::is_lowercase))
}

/// Whether letters and a dash, or capitals and a space, come directly before, and no term of a
/// lexicon names what follows: `か-4829`, `QN 0418`. Of such numbers hardly any is the code
/// without its letters. But `ACME 482 913` begins with a name, and more words in capitals are a
/// sentence.
fn follows_letters(one: &Candidate, before: &str, context: &Context<'_>) -> bool {
    const MOST: usize = 6;
    let is_number = matches!(one.shape, Shape::Digits | Shape::Grouped);
    if !is_number && !one.value.contains(' ') {
        return false;
    }
    let Some(rest) = before.strip_suffix(['-', ' ']) else {
        return false;
    };
    let letters = rest.chars().rev().take_while(|c| c.is_alphabetic());
    let letters: usize = letters.take(MOST + 1).map(char::len_utf8).sum();
    let Some((earlier, word)) = rest.split_at_checked(rest.len() - letters) else {
        return false;
    };
    let range = earlier.len()..rest.len();
    let has_dash = before.ends_with('-') && !word.is_ascii();
    // Folding makes other letters small.
    let is_in_capitals = |range: &Range<usize>| {
        let written = context.reading.folded.as_written(range);
        written.is_some_and(|written| written.chars().all(char::is_uppercase))
    };
    let is_vowel = || matches!(word, "A" | "E" | "I" | "O" | "U" | "Y");
    let trimmed = earlier.trim_end_matches(' ');
    let last = trimmed.char_indices().rev().nth(1);
    let last = last.map(|(at, _)| at..trimmed.len());
    let is_sentence = || earlier.ends_with(' ') && last.is_some_and(|last| is_in_capitals(&last));
    let is_name = word.chars().count() > 2 && one.compact.len() > 4;
    let is_part = has_dash || is_in_capitals(&range) && !is_name && !is_vowel() && !is_sentence();
    (1..=MOST).contains(&word.chars().count())
        && !earlier.ends_with(|c: char| c.is_alphanumeric() || c == '-')
        && is_part
        && !terms_in(&range, &context.hits).iter().any(is_label)
}

/// Whether a term can name what follows it. A unit stands behind its number.
fn is_label(hit: &Hit) -> bool {
    hit.sense.or(Sense::UNIT) != Sense::UNIT
}

/// Whether folding took accents from it. The letters of wide forms are the same letters.
fn has_accents(one: &Candidate, context: &Context<'_>) -> bool {
    let folded = &context.reading.folded;
    if folded.is_verbatim(&one.range) {
        return false;
    }
    folded.as_written(&one.range).is_none_or(|written| {
        let mut letters = written.nfkc().filter(|c| c.is_alphabetic());
        letters.any(|c| !c.is_ascii())
    })
}
