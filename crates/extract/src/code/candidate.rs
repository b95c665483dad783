//! Candidates: everything in a reading that has the shape of a code.

use std::ops::Range;

use super::number::{is_digits, is_year};
use super::segment::{Segment, containing};
use super::shape::{Shape, shape_of};
use super::token::{Token, tokens};
use crate::fold::BARRIER;
use crate::lexicon::{Hit, Sense};
use crate::reading::{Reading, Source};

/// More than any honest mail has.
const MAX_CANDIDATES: usize = 200;

/// Something with the shape of a code.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) range: Range<usize>,
    /// As printed, joined where it was spread over cells.
    pub(super) value: String,
    /// Letters and digits only.
    pub(super) compact: String,
    pub(super) shape: Shape,
    pub(super) segment: usize,
    /// Nothing but punctuation shares its line.
    pub(super) alone: bool,
    /// A number sign stands before it.
    pub(super) numbered: bool,
    /// It is, or begins, a word of a lexicon.
    pub(super) known: bool,
}

/// Finds the candidates of a reading, and whether there were too many.
pub(super) fn candidates(reading: &Reading, segments: &[Segment], hits: &[Hit]) -> (Vec<Candidate>, bool) {
    let text = reading.text();
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() && found.len() < MAX_CANDIDATES {
        let run = spelled_out(reading, &tokens, at).or_else(|| digit_groups(text, &tokens, at));
        let (range, value, shape, used) = match run {
            Some(Run::Code { range, value, shape, used }) => (range, value, shape, used),
            Some(Run::Nothing { used }) => {
                at += used;
                continue;
            }
            None => {
                let Some(token) = tokens.get(at) else { break };
                at += 1;
                let Some(core) = text.get(token.range.clone()) else { continue };
                match shape_of(core).filter(|_| !is_masked(text, token, core)) {
                    Some(shape) => (token.range.clone(), core.to_owned(), shape, 0),
                    None => continue,
                }
            }
        };
        at += used;
        if is_counted(text, &range, hits) || touches_barrier(text, &range) {
            continue;
        }
        let Some(segment) = containing(segments, range.start) else { continue };
        if shape.is_wordlike() && !is_set_off(text, &range, segments.get(segment), hits) {
            continue;
        }
        let compact = value.chars().filter(char::is_ascii_alphanumeric).collect();
        let alone = segments.get(segment).is_some_and(|s| is_alone(text, &s.range, &range));
        let numbered = text.get(..range.start).is_some_and(|before| before.ends_with(['#', '№']));
        let known = shape.is_wordlike() && hits.iter().any(|hit| hit.range.start < range.end && range.start < hit.range.end);
        found.push(Candidate { range, value, compact, shape, segment, alone, numbered, known });
    }
    (found, at < tokens.len())
}

enum Run {
    Code { range: Range<usize>, value: String, shape: Shape, used: usize },
    /// Digits that belong together and are no code: a phone, a card.
    Nothing { used: usize },
}

/// Four to ten single characters in a row of cells, spans or words.
fn spelled_out(reading: &Reading, tokens: &[Token], at: usize) -> Option<Run> {
    let text = reading.text();
    let mut value = String::new();
    let mut end = 0;
    for token in tokens.get(at..)?.iter().take(11) {
        let core = text.get(token.range.clone())?;
        let joined = value.is_empty() || is_cell_gap(reading.source, text.get(end..token.range.start)?);
        let single = core.len() == 1;
        if !single || !joined {
            break;
        }
        value.push_str(core);
        end = token.range.end;
    }
    // Numbers of a list count up, one line after the other.
    let start = tokens.get(at)?.range.start;
    let counts = value.as_bytes().windows(2).all(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b)));
    let is_list = counts && text.get(start..end)?.contains(['\n', '\t']);
    if !(4..=10).contains(&value.len()) || is_list {
        return None;
    }
    let shape = shape_of(&value)?;
    let used = value.len();
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    let line = text.get(end..)?.trim_start_matches(' ').starts_with('\n') && text.get(..start)?.trim_end_matches(' ').ends_with('\n');
    (plain || line).then_some(Run::Code { range: start..end, value, shape, used })
}

fn is_cell_gap(source: Source, gap: &str) -> bool {
    let limit = if source == Source::Html { 3 } else { 1 };
    !gap.is_empty()
        && gap.len() <= limit
        && gap.bytes().all(|byte| byte == b' ' || source == Source::Html && matches!(byte, b'\t' | b'\n'))
}

/// Groups of digits one blank apart: a grouped code, a phone, or a card.
fn digit_groups(text: &str, tokens: &[Token], at: usize) -> Option<Run> {
    let mut groups: Vec<&str> = Vec::new();
    let mut end = 0;
    for token in tokens.get(at..)?.iter().take(8) {
        let core = text.get(token.range.clone())?;
        let adjacent = groups.is_empty() || matches!(text.get(end..token.range.start)?, " " | ") " | "-");
        if !is_digits(core) && !(core.contains('-') && core.split('-').all(is_digits)) || !adjacent {
            break;
        }
        groups.push(core);
        end = token.range.end;
    }
    let first = tokens.get(at)?;
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let total: usize = lengths.iter().sum();
    let range = first.range.start..end;
    if first.before == Some('+') && total >= 7 {
        return Some(Run::Nothing { used: groups.len() });
    }
    match lengths.as_slice() {
        [] | [_] => None,
        [3, 3] | [4, 4] | [2, 2, 2] | [3, 3, 3] | [2, 2, 2, 2] | [5, 5] | [2, 2] => {
            let years = groups.iter().all(|group| is_year(group));
            let (value, used) = (text.get(range.clone())?.to_owned(), groups.len());
            let split = lengths.as_slice() == [2, 2] || years || first.before == Some('(');
            (!split && !is_masked(text, first, "")).then_some(Run::Code { range, value, shape: Shape::Grouped, used })
        }
        [_, _] if total < 9 || lengths.iter().any(|length| *length < 3) => None,
        _ if total >= 7 && lengths.iter().all(|length| *length <= 5) => Some(Run::Nothing { used: groups.len() }),
        _ => None,
    }
}

/// Signs around a token that make it something else.
fn is_masked(text: &str, token: &Token, core: &str) -> bool {
    let starred = token.before == Some('*') && token.after != Some('*');
    let money = token.before.is_some_and(|c| matches!(c, '$' | '€' | '£' | '¥' | '₹' | '฿' | '₽' | '₩' | '₫' | '₺' | '+' | '@' | '_'));
    let counted = token.after.is_some_and(|c| matches!(c, '%' | '@' | '_' | '°' | '$' | '€' | '£' | '₫' | '₽'));
    let reference = core.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("ref"));
    let hidden_card = reference || core.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("xx"));
    let after = text.get(token.range.end..).unwrap_or_default();
    let decimal = after.starts_with(['.', ',']) && after.get(1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
    let before = text.get(..token.range.start).unwrap_or_default();
    let spaced_money = before.trim_end_matches(' ').ends_with(['$', '€', '£', '¥', '₹', '฿', '₽', '₩', '₫', '₺']);
    starred || money || counted || hidden_card || decimal || spaced_money
}

/// A unit directly after, or money directly around.
fn is_counted(text: &str, range: &Range<usize>, hits: &[Hit]) -> bool {
    let next = hits.partition_point(|hit| hit.range.start < range.end);
    let follows = hits.get(next).is_some_and(|hit| {
        let gap = text.get(range.end..hit.range.start).unwrap_or("?");
        hit.sense.says(Sense::UNIT.or(Sense::MONEY)) && matches!(gap, "" | " " | "-")
    });
    let prefixed = hits.get(hits.partition_point(|hit| hit.range.start < range.start)).is_some_and(|hit| {
        hit.range.start == range.start && hit.range.end < range.end && hit.sense.says(Sense::MONEY)
    });
    let previous = hits.partition_point(|hit| hit.range.end <= range.start).checked_sub(1).and_then(|at| hits.get(at));
    let precedes = previous.is_some_and(|hit| {
        let gap = text.get(hit.range.end..range.start).unwrap_or("?");
        hit.sense.says(Sense::MONEY) && matches!(gap, "" | " " | "." | ". " | ":" | ": ")
    });
    follows || precedes || prefixed
}

/// Nearly every word has the shape of a code; only those on a line of their own
/// or right behind a label are worth a look.
fn is_set_off(text: &str, range: &Range<usize>, segment: Option<&Segment>, hits: &[Hit]) -> bool {
    let before = text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '"', '\'', '(', '[', '*']);
    let previous = hits.partition_point(|hit| hit.range.end <= before.len()).checked_sub(1).and_then(|at| hits.get(at));
    let labelled = previous.is_some_and(|hit| {
        hit.range.end == before.len() && hit.sense.says(Sense::CODE.or(Sense::WORD).or(Sense::IS))
    });
    let alone = segment.is_some_and(|segment| is_alone(text, &segment.range, range));
    alone || labelled || before.ends_with([':', '='])
}

fn touches_barrier(text: &str, range: &Range<usize>) -> bool {
    text.get(..range.start).is_some_and(|before| before.ends_with(BARRIER))
        || text.get(range.end..).is_some_and(|after| after.starts_with(BARRIER))
}

fn is_alone(text: &str, segment: &Range<usize>, range: &Range<usize>) -> bool {
    let before = text.get(segment.start..range.start).unwrap_or_default();
    // A code spread over cells goes beyond its first one.
    let after = text.get(range.end..segment.end).unwrap_or_default();
    before.chars().chain(after.chars()).all(|c| !c.is_alphanumeric())
}
