//! Candidates that are a part of a longer value. To return them would be wrong, so they are none:
//! `4829` of `か-4829`, `Ku-4829` of `Kü-4829`, `XK7Q` of `XK7Q+29`, `HTRV` of `HTRV 5520 KM`.

use unicode_normalization::UnicodeNormalization as _;

use super::candidate::Candidate;
use super::context::Context;
use super::shape::Shape;

/// Whether a candidate is a part of more.
pub(super) fn is_cut(one: &Candidate, context: &Context<'_>) -> bool {
    let text = context.text();
    let before = text.get(..one.range.start).unwrap_or_default();
    let after = text.get(one.range.end..).unwrap_or_default();
    goes_on(one.shape, after)
        || is_joined(before.chars().rev())
        || is_joined(after.chars())
        || has_foreign_letter(before)
        || has_accents(one, context)
}

/// Whether a candidate is what a reader of ASCII leaves of a longer one, or the beginning of that: `80551` of
/// `Ж80551`, `HTRV 5520` of `HTRV 5520 KM`.
pub(super) fn is_cut_from(one: &Candidate, phrase: &Candidate) -> bool {
    let is_one_group = !phrase.value.contains(' ');
    phrase.shape == Shape::Dashed
        && (is_one_group || !phrase.value.contains(char::is_lowercase))
        && (!phrase.value.is_ascii() || one.range.start == phrase.range.start)
}

/// Whether a number follows letters, or one capital ends what digits begin.
fn goes_on(shape: Shape, after: &str) -> bool {
    let Some(next) = after.strip_prefix(' ') else {
        return false;
    };
    match shape {
        Shape::Letters => next.starts_with(|c: char| c.is_ascii_digit()),
        Shape::Digits | Shape::Grouped => {
            let rest = next.strip_prefix(|c: char| c.is_ascii_uppercase());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c == ' ' || c.is_alphanumeric()))
        }
        _ => false,
    }
}

/// Whether a sign that joins parts comes next, and then a capital or a digit.
fn is_joined(mut chars: impl Iterator<Item = char>) -> bool {
    matches!(chars.next(), Some('+' | '/' | '~' | '&'))
        && chars
            .next()
            .is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Whether one letter that is not Latin and a dash come before. More letters are a label.
fn has_foreign_letter(before: &str) -> bool {
    let Some(before) = before.strip_suffix('-') else {
        return false;
    };
    let mut letters = before.chars().rev();
    let last = letters.next();
    last.is_some_and(|c| !c.is_ascii() && c.is_alphabetic())
        && !letters.next().is_some_and(char::is_alphabetic)
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
