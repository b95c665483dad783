//! Codes that consist of several tokens.

use std::ops::Range;

use super::apart::{is_set_apart, is_set_apart_whole, line_around};
use super::mask::is_masked;
use super::number::{is_digits, is_year};
use super::shape::{Shape, shape_of};
use super::token::Token;
use crate::reading::{Reading, TextSource};

/// The most characters of a code that is spelled out.
const LONGEST_RUN: usize = 10;

/// The meaning of several tokens in a row.
pub(super) enum Run {
    /// They form one code.
    Code {
        range: Range<usize>,
        value: String,
        shape: Shape,
        used: usize,
    },
    /// They form a number that is no code, such as a phone or card number.
    Nothing { used: usize },
}

impl Run {
    /// How many tokens it has.
    pub(super) fn used(&self) -> usize {
        match self {
            Self::Code { used, .. } | Self::Nothing { used } => *used,
        }
    }
}

/// A code of four to ten single characters in cells, spans or words of their own.
pub(super) fn spelled_out(reading: &Reading, tokens: &[Token], at: usize) -> Option<Run> {
    let text = reading.text();
    if tokens.get(at)?.range.len() != 1 {
        return None;
    }
    let mut value = String::new();
    let (mut is_split, mut only_digits, mut first_gap) = (false, true, "");
    let (mut used, mut end) = (0, 0);
    for token in tokens.get(at..)? {
        let core = text.get(token.range.clone())?;
        let gap = text.get(end..token.range.start)?;
        if used == 1 {
            first_gap = gap;
        }
        let even = gap == first_gap && is_even_gap(gap);
        // Dashes in cells of their own, or one wider gap, in the middle, are part of the code.
        let in_middle = used > 2 && !even && gap.len() > 1;
        let dash = in_middle && gap.trim() == "-";
        let wide = in_middle
            && !is_split
            && gap.len() > first_gap.len()
            && gap.len() < 6
            && gap.trim_matches(' ').is_empty();
        // "4 minutes" in the line below a row of cells is not part of it.
        let is_below = used > 3 && gap.contains('\n') && !first_gap.contains('\n');
        let joined = dash || wide || even || is_cell_gap(reading.source, gap);
        let joined = used == 0 || joined && !is_below;
        // "3 0 5 9 6 2 y": the next word may have one letter.
        let is_small = core.bytes().all(|byte| byte.is_ascii_lowercase());
        let ends = used > 0 && only_digits && is_small;
        if core.len() != 1 || !joined || ends {
            break;
        }
        if dash {
            value.push('-');
        }
        is_split |= dash || wide;
        value.push_str(core);
        only_digits &= is_digits(core);
        used += 1;
        end = token.range.end;
    }
    // A longer run is no code, and neither is any part of it.
    if used > LONGEST_RUN {
        return Some(Run::Nothing { used });
    }
    let start = tokens.get(at)?.range.start;
    if used < 4 || is_list(&value, text.get(start..end)?) {
        return None;
    }
    let shape = shape_of(&value)?;
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'-');
    let range = start..end;
    (plain || is_set_apart_whole(text, &range)).then_some(Run::Code {
        range,
        value,
        shape,
        used,
    })
}

/// Whether digits count up over lines, cells or commas: the numbers of a list.
fn is_list(digits: &str, written: &str) -> bool {
    let mut pairs = digits.as_bytes().windows(2);
    pairs.all(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b)))
        && written.contains(['\n', '\t', ',', '、', '/'])
}

/// Whether the text between two characters of a code only separates their cells: up to
/// three spaces, tabs or line breaks in HTML, one space elsewhere.
fn is_cell_gap(source: TextSource, gap: &str) -> bool {
    let limit = if source == TextSource::Html { 3 } else { 1 };
    !gap.is_empty()
        && gap.len() <= limit
        && gap
            .bytes()
            .all(|byte| byte == b' ' || source == TextSource::Html && matches!(byte, b'\t' | b'\n'))
}

/// Whether characters are one code if this text is between each of them and the next: up
/// to four spaces, a sign that separates, or the end of a line.
fn is_even_gap(gap: &str) -> bool {
    let sign = gap.trim_matches(' ');
    gap.len() - sign.len() <= 4
        && matches!(
            sign,
            "" | "·" | "•" | "・" | "|" | "-" | "," | "、" | "/" | "\n" | "\n\n"
        )
        && !gap.is_empty()
}

/// Groups of digits one space apart: a code in groups, or a phone or card number.
pub(super) fn digit_groups(reading: &Reading, tokens: &[Token], at: usize) -> Option<Run> {
    let text = reading.text();
    let first = tokens.get(at)?;
    if !text.as_bytes().get(first.range.start)?.is_ascii_digit() {
        return None;
    }
    let (mut groups, mut end) = number_groups(reading, (tokens, at), is_sign_gap)?;
    let digits: usize = groups.iter().map(|group| group.len()).sum();
    if first.before(text) == Some('+') && digits >= 7 {
        return Some(Run::Nothing { used: groups.len() });
    }
    // "482 913 | 10 minutes": what comes after the sign is another number.
    let signs = text.get(first.range.start..end)?.matches(['/', '|']);
    let signs = signs.count();
    if signs > 0 && !(signs == 2 && is_signed(&groups)) {
        (groups, end) = number_groups(reading, (tokens, at), |_| false)?;
    }
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let total: usize = lengths.iter().sum();
    let range = first.range.start..end;
    // "3) 482 913": the first number is that of a list.
    let is_item = text.get(first.range.end..)?.starts_with(") ");
    if groups.len() > 1 && is_item && first.before(text) != Some('(') {
        return None;
    }
    if groups.len() < 2 {
        return None;
    }
    let is_regular = matches!(
        lengths.as_slice(),
        [3, 3] | [4, 4] | [2, 2, 2] | [3, 3, 3] | [2, 2, 2, 2] | [5, 5] | [2, 2, 2, 2, 2]
    );
    // "12 2026" is a month, but "2026 20" may be a code.
    let later = groups.get(1..).unwrap_or_default();
    let years = later.iter().any(|group| is_year(group)) && !is_regular
        || groups.iter().all(|group| is_year(group));
    let years = years && !is_set_apart(text, &range);
    let is_short = (4..=8).contains(&total) && groups.len() <= 4;
    if (is_regular || is_short || is_long_code(text, &range, &groups)) && !years {
        let value = text.get(range.clone())?;
        let is_bracketed = text.get(end..)?.starts_with(')') && !value.contains(')');
        let split = first.before(text) == Some('(') && !is_bracketed || is_masked(text, first, "");
        let (value, used) = (in_one_line(value), groups.len());
        return (!split).then_some(Run::Code {
            range,
            value,
            shape: Shape::Grouped,
            used,
        });
    }
    let is_long = total >= 7 && groups.len() > 2 || total >= 9;
    (is_long
        && lengths
            .iter()
            .all(|length| (3..=5).contains(length) || groups.len() > 2))
    .then_some(Run::Nothing { used: groups.len() })
}

/// The groups of digits that begin with a token, and where they end. They may have these
/// signs between them.
fn number_groups<'t>(
    reading: &'t Reading,
    (tokens, at): (&[Token], usize),
    is_sign_gap: impl Fn(&str) -> bool,
) -> Option<(Vec<&'t str>, usize)> {
    let (text, first) = (reading.text(), tokens.get(at)?);
    let mut groups: Vec<&str> = Vec::new();
    let (mut end, mut in_one_cell) = (0, false);
    let in_cells = reading.source == TextSource::Html && is_row_of_numbers(text, &first.range);
    for token in tokens.get(at..)?.iter().take(8) {
        let core = text.get(token.range.clone())?;
        let gap = text.get(end..token.range.start)?;
        let adjacent = groups.is_empty()
            || is_group_gap(gap)
            || is_sign_gap(gap)
            || in_cells && !in_one_cell && is_cells_gap(gap);
        let numeric = core.split('-').all(is_digits);
        if !numeric || !adjacent {
            break;
        }
        // A code in groups has one cell, and its neighbours are other numbers.
        in_one_cell |= !groups.is_empty() && !gap.contains('\t');
        groups.push(core);
        end = token.range.end;
    }
    Some((groups, end))
}

/// `4820 117 365`. In a sentence that is mostly a phone number.
fn is_long_code(text: &str, range: &Range<usize>, groups: &[&str]) -> bool {
    let digits: usize = groups.iter().map(|group| group.len()).sum();
    groups.len() == 3
        && (9..=10).contains(&digits)
        && groups.iter().all(|group| is_digits(group))
        && is_set_apart_whole(text, range)
}

/// A code in cells is written with one space between its groups.
pub(super) fn in_one_line(value: &str) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    words.join(" ")
}

/// Whether the line of a number has other numbers in cells, and nothing else.
fn is_row_of_numbers(text: &str, range: &Range<usize>) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b'-');
    line_around(text, range).is_some_and(|(before, after)| {
        after.contains('\t') && before.bytes().chain(after.bytes()).all(is_part)
    })
}

/// Whether the text between two groups only separates their cells.
fn is_cells_gap(gap: &str) -> bool {
    gap.len() <= 5 && gap.contains('\t') && matches!(gap.trim(), "" | "-")
}

/// `290 | 558 | 13`: three groups with a sign between them. Two are a fraction, and most others
/// a date.
fn is_signed(groups: &[&str]) -> bool {
    groups.len() == 3
        && groups
            .iter()
            .all(|group| matches!(group.len(), 2 | 3) && is_digits(group))
}

fn is_sign_gap(gap: &str) -> bool {
    matches!(gap, " / " | " | ")
}

fn is_group_gap(gap: &str) -> bool {
    matches!(gap, " " | ") " | "-" | " - " | "·" | " · " | "•" | " • ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::token::tokens;

    fn value(run: Option<Run>) -> Option<String> {
        match run? {
            Run::Code { value, .. } => Some(value),
            Run::Nothing { .. } => Some("nothing".to_owned()),
        }
    }

    fn spelled(text: &str) -> Option<String> {
        let steps = crate::steps::Steps::for_size(0);
        let mut reading = Reading::of_text(text, 1_000, &steps);
        reading.source = TextSource::Text;
        value(spelled_out(&reading, &tokens(text), 0))
    }

    #[test]
    fn digits_with_even_gaps_are_one_code() {
        assert_eq!(spelled("2   9   4   4   0   1").as_deref(), Some("294401"));
        assert_eq!(spelled("8·0·8·1·4").as_deref(), Some("80814"));
        assert_eq!(spelled("3 0 5 9 6 2 y pulse").as_deref(), Some("305962"));
        assert_eq!(spelled("2   9 4  4"), None);
        assert_eq!(spelled("6 0 7    9 9 2 in").as_deref(), Some("607992"));
        assert_eq!(spelled("3, 9, 9, 1.").as_deref(), Some("3991"));
        assert_eq!(spelled("9 / 0 / 9 / 1").as_deref(), Some("9091"));
        assert_eq!(spelled("3, 4, 5, 6"), None);
        assert_eq!(spelled("7、0、5、2").as_deref(), Some("7052"));
        assert_eq!(
            spelled("8 8 4 - 1 9 0 - 2 7").as_deref(),
            Some("884-190-27")
        );
        assert_eq!(spelled("h 4 r t 9 k").as_deref(), Some("h4rt9k"));
    }

    #[test]
    fn number_below_a_row_of_cells_is_not_part_of_the_code() {
        let text = "2\t0\t9\t9\t3\n4 minutes";
        let steps = crate::steps::Steps::for_size(0);
        let mut reading = Reading::of_text(text, 1_000, &steps);
        reading.source = TextSource::Html;
        let run = spelled_out(&reading, &tokens(text), 0);
        assert_eq!(value(run).as_deref(), Some("20993"));
    }

    #[test]
    fn code_in_groups_is_apart_from_the_cells_beside_it() {
        let of = |text: &str| {
            let steps = crate::steps::Steps::for_size(0);
            let mut reading = Reading::of_text("", 1_000, &steps);
            reading.source = TextSource::Html;
            text.chars().for_each(|c| {
                if c == '\t' {
                    reading.folded.tab();
                } else {
                    reading.folded.push(c, 0);
                }
            });
            value(digit_groups(&reading, &tokens(text), 0))
        };
        assert_eq!(of("48 206\t93 175\t60 412").as_deref(), Some("48 206"));
        assert_eq!(of("48\t20\t61").as_deref(), Some("48 20 61"));
    }

    #[test]
    fn groups_with_signs_are_a_code_if_there_are_three() {
        let of = |text: &str| {
            let steps = crate::steps::Steps::for_size(0);
            value(digit_groups(
                &Reading::of_text(text, 1_000, &steps),
                &tokens(text),
                0,
            ))
        };
        assert_eq!(of("290 | 558 | 13").as_deref(), Some("290 | 558 | 13"));
        assert_eq!(of("70 / 07 / 77").as_deref(), Some("70 / 07 / 77"));
        for no in ["14 / 11 / 2026", "12 / 30", "3 / 4 / 5"] {
            assert_eq!(of(no), None, "{no}");
        }
        // The number of a list is no part of it.
        assert_eq!(of("3) 3 9 1 7 7 0"), None);
    }

    #[test]
    fn groups_before_a_sign_are_a_code_without_what_comes_after_it() {
        let of = |text: &str| {
            let steps = crate::steps::Steps::for_size(0);
            value(digit_groups(
                &Reading::of_text(text, 1_000, &steps),
                &tokens(text),
                0,
            ))
        };
        for sign in ["|", "/"] {
            let six = format!("482 913 {sign} 10 minutes");
            assert_eq!(of(&six).as_deref(), Some("482 913"));
            let eight = format!("4829 1377 {sign} 24 hours left");
            assert_eq!(of(&eight).as_deref(), Some("4829 1377"));
        }
    }

    #[test]
    fn ten_digits_in_groups_are_a_code_only_in_a_line_of_their_own_or_after_a_colon() {
        let of = |text: &str| {
            let steps = crate::steps::Steps::for_size(0);
            let mut reading = Reading::of_text(text, 1_000, &steps);
            reading.source = TextSource::Text;
            let tokens = tokens(text);
            let at = tokens
                .iter()
                .position(|token| text.as_bytes().get(token.range.start) == Some(&b'4'));
            value(digit_groups(&reading, &tokens, at?))
        };
        let code = Some("4820 117 365".to_owned());
        assert_eq!(of("Write:\n4820 117 365\n"), code);
        assert_eq!(of("Your code: 4820 117 365"), code);
        assert_ne!(of("Call 4820 117 365 now"), code);
        assert_ne!(of("Call: 4820 117 365 now"), code);
    }
}
