//! The shapes a code can have.

use super::number::{
    is_dashed_date, is_dashed_number, is_dashed_phone, is_digits, is_dotted_digits,
};
use crate::words::has_order;

/// The shape of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Four to ten digits.
    Digits,
    /// Digits in groups of equal length.
    Grouped,
    /// Letters, a dash, digits: `G-123456`.
    Prefixed,
    /// Capitals and digits.
    Mixed,
    /// Letters of either case and digits.
    MixedCase,
    /// Groups of letters and digits: `AB3-X9K`.
    Dashed,
    /// Capitals only.
    Letters,
    /// Small letters only.
    SmallLetters,
    /// Words, or words and numbers.
    Words,
}

/// The kinds of characters in a token, found in one pass.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a token may have characters of every kind"
)]
struct Has {
    upper: bool,
    lower: bool,
    digit: bool,
    dash: bool,
    dot: bool,
    other: bool,
}

impl Has {
    fn of(core: &str) -> Self {
        let mut has = Self::default();
        for byte in core.bytes() {
            match byte {
                b'A'..=b'Z' => has.upper = true,
                b'a'..=b'z' => has.lower = true,
                b'0'..=b'9' => has.digit = true,
                b'-' => has.dash = true,
                b'.' => has.dot = true,
                _ => has.other = true,
            }
        }
        has
    }
}

/// The shape of a token, if it can be a code.
pub(super) fn shape_of(core: &str) -> Option<Shape> {
    const SHORTEST: usize = 4;
    if core.len() < SHORTEST {
        return None;
    }
    let has = Has::of(core);
    if has.dash {
        // "KILL-99"
        return dashed(core).filter(|_| !has_order(core));
    }
    if has.dot {
        return (dotted(core) || is_dotted_digits(core)).then_some(Shape::Grouped);
    }
    let length = core.len();
    match (has.upper, has.lower, has.digit) {
        _ if has.other => None,
        (false, false, true) if length <= 10 => Some(Shape::Digits),
        (true, false, true) if length <= 12 => Some(Shape::Mixed),
        (_, true, true) if (5..=12).contains(&length) => Some(Shape::MixedCase),
        (true, false, false) if length <= 10 => Some(Shape::Letters),
        (false, true, false) if (5..=10).contains(&length) => Some(Shape::SmallLetters),
        _ => None,
    }
}

/// The shape of a token that is set apart. Elsewhere these are mostly phone numbers.
pub(super) fn shape_apart(core: &str) -> Option<Shape> {
    is_dashed_number(core).then_some(Shape::Grouped)
}

/// `482.913`, or `31.75.09` unless it is a date or a time.
fn dotted(core: &str) -> bool {
    let groups: Vec<&str> = core.split('.').collect();
    groups.iter().all(|group| is_digits(group))
        && match groups.as_slice() {
            [a, b] => a.len() == 3 && b.len() == 3,
            [a, b, c] => {
                let is_even = [a, b, c].iter().all(|group| group.len() == 2);
                let is_month = |group: &str| ("01"..="12").contains(&group);
                let is_day = |group: &str| ("01"..="31").contains(&group);
                let is_date = is_day(a) && is_month(b)
                    || is_month(a) && is_day(b)
                    || is_month(b) && is_day(c);
                let is_time = ("00"..="23").contains(a) && *b < "60" && *c < "60";
                is_even && !is_date && !is_time
            }
            _ => false,
        }
}

fn dashed(core: &str) -> Option<Shape> {
    let groups: Vec<&str> = core.split('-').collect();
    let alnum =
        |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let single = groups.iter().all(|group| group.len() == 1);
    let most = if single { 10 } else { 6 };
    if !groups.iter().all(alnum) || groups.len() > most || core.len() > 32 {
        return None;
    }
    if groups.iter().all(|group| is_digits(group)) {
        return (!is_dashed_date(core) && !is_dashed_phone(core)).then_some(Shape::Grouped);
    }
    if let [prefix, number] = groups.as_slice()
        && (1..=4).contains(&prefix.len())
        && prefix
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && prefix.starts_with(|c: char| c.is_ascii_uppercase())
        && is_digits(number)
        // "K4T9-27" is a code in groups.
        && (number.len() >= 4 || prefix.bytes().all(|byte| byte.is_ascii_uppercase()))
    {
        return match number.len() {
            4..=8 => Some(Shape::Prefixed),
            2..=3 if prefix.len() > 1 => Some(Shape::Dashed),
            _ => None,
        };
    }
    let has_digit = core.bytes().any(|byte| byte.is_ascii_digit());
    let equal = groups
        .iter()
        .all(|group| Some(group.len()) == groups.first().map(|first| first.len()));
    let sized = groups.iter().all(|group| (3..=6).contains(&group.len()));
    let short = groups.iter().all(|group| group.len() <= 6)
        && (5..=15).contains(&core.len())
        && core.bytes().filter(u8::is_ascii_alphabetic).count() <= 8;
    let upper = !core.bytes().any(|byte| byte.is_ascii_lowercase());
    let lower = !core.bytes().any(|byte| byte.is_ascii_uppercase());
    let has_vowel = core.bytes().any(|byte| b"aeiouy".contains(&byte));
    if is_words_with_number(&groups, upper || lower) {
        return Some(Shape::Dashed);
    }
    match groups.len() {
        5.. if has_digit && single && upper => Some(Shape::Dashed),
        2..=4 if lower && equal && sized && !has_vowel => Some(Shape::Dashed),
        2..=4 if has_digit && sized && (upper || lower) => Some(Shape::Dashed),
        2..=4 if has_digit && short => Some(Shape::Dashed),
        2..=4 if upper && equal && sized => Some(Shape::Dashed),
        count if count >= 4 && lower && !has_digit && sized => Some(Shape::Words),
        _ => None,
    }
}

/// `VELVET-41`, `harbor-2-lime`, `LIMA-4-7-TANGO`: one or two words and one or two numbers.
fn is_words_with_number(groups: &[&str], is_one_case: bool) -> bool {
    let numbers = groups.iter().filter(|group| is_digits(group));
    let is_word = |group: &&str| group.bytes().all(|byte| byte.is_ascii_alphabetic());
    let words = groups.iter().filter(|group| is_word(group));
    let sized = words.clone().all(|word| (3..=10).contains(&word.len()));
    let shortest = if groups.len() > 2 { 1 } else { 2 };
    is_one_case
        && sized
        && matches!(groups.len(), 2..=4)
        && matches!(numbers.clone().count(), 1..=2)
        && matches!(words.clone().count(), 1..=2)
        && words.count() + numbers.clone().count() == groups.len()
        && numbers
            .clone()
            .all(|number| (shortest..=4).contains(&number.len()))
        && (groups.len() > 2 || groups.first().is_some_and(is_word))
}

impl Shape {
    /// Its name in a feature.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::Grouped => "grouped",
            Self::Prefixed => "prefixed",
            Self::Mixed => "mixed",
            Self::MixedCase => "mixedcase",
            Self::Dashed => "dashed",
            Self::Letters => "letters",
            Self::SmallLetters => "smallletters",
            Self::Words => "words",
        }
    }

    /// Whether ordinary words have the shape too. Such a candidate needs a label.
    pub(super) fn is_wordlike(self) -> bool {
        matches!(self, Self::Letters | Self::SmallLetters | Self::Words)
    }
}

/// Whether letters have too few vowels for a word.
pub(super) fn is_random(value: &str) -> bool {
    const FEW: usize = 5;
    let is_vowel = |byte: &u8| matches!(byte | 0x20, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let bytes = || value.as_bytes().iter();
    value.len() >= 4
        && bytes().all(u8::is_ascii_uppercase)
        && bytes().copied().filter(is_vowel).count() * FEW <= value.len()
        || value.len() > FEW && !bytes().any(is_vowel) && bytes().all(u8::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_codes_have_a_shape() {
        for (core, shape) in [
            ("123456", Shape::Digits),
            ("1234567890", Shape::Digits),
            ("123-456", Shape::Grouped),
            ("482.913", Shape::Grouped),
            ("31.75.09", Shape::Grouped),
            ("8.0.2.6.6.1", Shape::Grouped),
            ("8-0-7-7-2-1-5", Shape::Grouped),
            ("G-412157", Shape::Prefixed),
            ("SMXY-520047", Shape::Prefixed),
            ("K6YCMU", Shape::Mixed),
            ("1ILO0Z5P", Shape::Mixed),
            ("3AK-H3A", Shape::Dashed),
            ("DJZ-TLX", Shape::Dashed),
            ("tt226-5398x", Shape::Dashed),
            ("sparo-ndigo-amurt-secan", Shape::Words),
            ("K4T9-27", Shape::Dashed),
            ("B-R-N-K-8", Shape::Dashed),
            ("kfbd-tjwm", Shape::Dashed),
            ("KORB-73", Shape::Dashed),
            ("velvet-cobra-19", Shape::Dashed),
            ("lamp-2-river", Shape::Dashed),
            ("LIMA-4-7-TANGO", Shape::Dashed),
            ("64-93-08-17", Shape::Grouped),
            ("2580-46", Shape::Grouped),
            ("MIFSUC", Shape::Letters),
            ("a9x2kq7p", Shape::MixedCase),
        ] {
            assert_eq!(shape_of(core), Some(shape), "{core}");
        }
    }

    #[test]
    fn dates_phone_numbers_and_words_have_no_shape() {
        for core in [
            "123",
            "12345678901",
            "sign-in",
            "2026-03-14",
            "555-1234",
            "IGNORE-ALL",
            "KILL-99",
            "a_b123",
            "1.2.3",
            "18.45.30",
            "85.03.14",
            "14.03.26",
        ] {
            assert_eq!(shape_of(core), None, "{core}");
        }
    }
}
