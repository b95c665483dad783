//! Codes that consist of several tokens.

use std::ops::Range;

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

/// A code of four to ten single characters in cells, spans or words of their own.
pub(super) fn spelled_out(reading: &Reading, tokens: &[Token], at: usize) -> Option<Run> {
    let text = reading.text();
    if tokens.get(at)?.range.len() != 1 {
        return None;
    }
    let mut value = String::new();
    let mut dashed = false;
    let (mut used, mut end) = (0, 0);
    for token in tokens.get(at..)? {
        let core = text.get(token.range.clone())?;
        let gap = text.get(end..token.range.start)?;
        // One dash in a cell of its own, in the middle, is part of the code.
        let dash = used > 2 && !dashed && gap.trim() == "-" && gap.len() > 1;
        let joined = used == 0 || dash || is_cell_gap(reading.source, gap);
        if core.len() != 1 || !joined {
            break;
        }
        if dash {
            dashed = true;
            value.push('-');
        }
        value.push_str(core);
        used += 1;
        end = token.range.end;
    }
    // A longer run is no code, and neither is any part of it.
    if used > LONGEST_RUN {
        return Some(Run::Nothing { used });
    }
    // Digits that count up over lines or cells are the numbers of a list.
    let start = tokens.get(at)?.range.start;
    let counts = value
        .as_bytes()
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b)));
    let is_list = counts && text.get(start..end)?.contains(['\n', '\t']);
    if used < 4 || is_list {
        return None;
    }
    let shape = shape_of(&value)?;
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'-');
    let line = text.get(end..)?.trim_start_matches(' ').starts_with('\n')
        && text.get(..start)?.trim_end_matches(' ').ends_with('\n');
    (plain || line).then_some(Run::Code {
        range: start..end,
        value,
        shape,
        used,
    })
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

/// Groups of digits one space apart: a code in groups, or a phone or card number.
pub(super) fn digit_groups(text: &str, tokens: &[Token], at: usize) -> Option<Run> {
    let first = tokens.get(at)?;
    if !text.as_bytes().get(first.range.start)?.is_ascii_digit() {
        return None;
    }
    let mut groups: Vec<&str> = Vec::new();
    let mut end = 0;
    for token in tokens.get(at..)?.iter().take(8) {
        let core = text.get(token.range.clone())?;
        let adjacent = groups.is_empty()
            || matches!(text.get(end..token.range.start)?, " " | ") " | "-" | " - ");
        let numeric = core.split('-').all(is_digits);
        if !numeric || !adjacent {
            break;
        }
        groups.push(core);
        end = token.range.end;
    }
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let total: usize = lengths.iter().sum();
    let range = first.range.start..end;
    if first.before(text) == Some('+') && total >= 7 {
        return Some(Run::Nothing { used: groups.len() });
    }
    if groups.len() < 2 {
        return None;
    }
    let is_regular = matches!(
        lengths.as_slice(),
        [3, 3] | [4, 4] | [2, 2, 2] | [3, 3, 3] | [2, 2, 2, 2] | [5, 5]
    );
    let years = groups.iter().any(|group| is_year(group)) && !is_regular
        || groups.iter().all(|group| is_year(group));
    if (is_regular || (4..=8).contains(&total) && groups.len() <= 4) && !years {
        let split = first.before(text) == Some('(') || is_masked(text, first, "");
        let (value, used) = (text.get(range.clone())?.to_owned(), groups.len());
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

/// Two groups of three or four capitals and digits, one space apart: `M62 0K8`.
pub(super) fn letter_groups(text: &str, tokens: &[Token], at: usize) -> Option<Run> {
    let (first, second) = (tokens.get(at)?, tokens.get(at + 1)?);
    let range = first.range.start..second.range.end;
    let groups = [first, second].map(|token| text.get(token.range.clone()).unwrap_or_default());
    let [one, other] = groups;
    let is_group = |group: &str| {
        group
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    let is_mixed = |group: &str| {
        group.bytes().any(|byte| byte.is_ascii_digit())
            && group.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let fits = matches!(one.len(), 3 | 4)
        && one.len() == other.len()
        && groups.iter().all(|group| is_group(group))
        && groups.iter().any(|group| is_mixed(group))
        && text.get(first.range.end..second.range.start) == Some(" ");
    fits.then(|| Run::Code {
        value: text.get(range.clone()).unwrap_or_default().to_owned(),
        range,
        shape: Shape::Dashed,
        used: 2,
    })
}
