//! What names a URL in plain text.
//!
//! `Confirm: URL`, `Confirm <URL>`, `Confirm “URL”`, `Confirm -> URL`; `URL (Confirm)`,
//! `URL - Confirm`; a line of its own above the URL that ends with a colon or is set off by signs;
//! or the reference to a footnote: `Confirm [1]`.

use std::ops::Range;

use super::footnote;
use super::surroundings::{REACH, last_sentence, text_before};
use crate::steps::Steps;

/// A longer text is a sentence and no label. In characters.
const LONGEST: usize = 40;
/// Signs around a URL. Folding has made simple quotation marks and dashes of the others.
const BRACKETS: [char; 3] = ['<', '(', '['];
const QUOTES: [char; 4] = ['"', '\'', '「', '『'];
/// Signs between a label and its URL.
const ARROWS: [char; 6] = ['>', '-', '=', '→', '➜', '►'];
/// Signs around a label that has a line of its own.
const STARS: [char; 6] = ['*', '_', '~', '#', '[', ']'];
/// What may stand between the beginning of a line and its URL.
pub(super) const BULLETS: [char; 7] = [' ', '<', '(', '[', '*', '-', '•'];

/// The name of a URL in plain text.
pub(super) struct Name<'t> {
    /// Empty if nothing names the URL.
    pub(super) label: &'t str,
    /// It has a label in front of the URL or at its reference. What stands behind the URL may as
    /// well say how long it is valid.
    pub(super) is_named: bool,
    /// Where the text refers to the URL, if it is a footnote.
    pub(super) reference: Option<Range<usize>>,
}

impl<'t> Name<'t> {
    pub(super) fn of(text: &'t str, span: &Range<usize>, steps: &Steps<'_>) -> Self {
        let reference = footnote::reference(text, span.start, steps);
        let before = match &reference {
            Some(place) => Some(footnote::label(text, place)).filter(|label| is_short(label)),
            None => Some(label_before(text, span)),
        };
        let before = before.filter(|label| label.contains(char::is_alphabetic));
        let is_named = before.is_some();
        Self {
            label: match before {
                Some(label) => label,
                None if reference.is_none() => label_behind(text, span),
                None => "",
            },
            is_named,
            reference,
        }
    }
}

/// The label in the line of the URL, or above it.
fn label_before<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let before = text_before(text, span.start);
    let is_set_off = |c: char| BRACKETS.contains(&c) || QUOTES.contains(&c) || ARROWS.contains(&c);
    let outside = before.trim_end_matches(|c: char| c == ' ' || is_set_off(c));
    let signs = before.get(outside.len()..).unwrap_or_default();
    let (line, is_own) = last_line(outside);
    let line = behind_last_url(line).trim();
    if let Some(label) = line.strip_suffix(':') {
        let label = last_clause(last_sentence(label));
        return if is_own || is_short(label) { label } else { "" };
    }
    let is_label = if is_own {
        signs.contains(is_set_off) || ends_line(text, span.end)
    } else {
        signs.contains(BRACKETS) || is_decorated(line)
    };
    let label = last_clause(last_sentence(line)).trim_matches(|c| STARS.contains(&c) || c == ' ');
    let label = label.trim_start_matches(|c| ARROWS.contains(&c) || c == ' ');
    if is_label && is_short(label) {
        label
    } else {
        ""
    }
}

/// `(Confirm)`, `- Confirm` or `<- Confirm` behind a URL that begins its line. In round brackets it
/// may have the next line for itself.
fn label_behind<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    if !begins_line(text, span.start) {
        return "";
    }
    let rest = text.get(span.end..text.floor_char_boundary(span.end + REACH));
    let rest = rest.unwrap_or_default().trim_start_matches(['>', ' ']);
    let own = rest.split(['\n', '\t']).next().unwrap_or_default();
    let next = rest.strip_prefix('\n').map(str::trim_start);
    let bracketed = own
        .strip_prefix(['(', '['])
        .or_else(|| next?.strip_prefix('('));
    let is_sign = |c: char| ARROWS.contains(&c) || matches!(c, ':' | '<' | '←' | ' ');
    let label = if let Some(opened) = bracketed {
        let (label, after) = opened.split_once([')', ']']).unwrap_or_default();
        // `[Confirm](URL)` is the label of another URL.
        let is_anothers = after
            .trim_start_matches(['(', '<', ' ', ':'])
            .starts_with("http");
        if is_anothers { "" } else { label }
    } else {
        own.strip_prefix(is_sign).unwrap_or_default()
    };
    let label = label.trim_start_matches(is_sign).trim();
    if is_short(label) && !label.contains('\n') {
        label
    } else {
        ""
    }
}

/// Whether a text is short enough for a label, and no URL.
pub(super) fn is_short(label: &str) -> bool {
    label.chars().count() <= LONGEST && !label.contains("://")
}

/// `** Confirm **`, `>> Confirm`, `[Confirm]`.
fn is_decorated(line: &str) -> bool {
    line.starts_with(|c| STARS.contains(&c)) && line.ends_with(|c| STARS.contains(&c))
        || [">>", "->", "=>", "→", "►", "#"]
            .iter()
            .any(|sign| line.starts_with(sign))
}

pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = text_before(text, at).trim_end_matches(BULLETS);
    before.is_empty() || before.ends_with(['\n', '\t'])
}

fn ends_line(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.trim_start_matches([' ', '.', '!', '。']);
    rest.is_empty() || rest.starts_with(['\n', '\t'])
}

/// What follows the last URL of a line: `Help: URL / Confirm`.
fn behind_last_url(line: &str) -> &str {
    let Some((_, rest)) = line.rsplit_once("://") else {
        return line;
    };
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let is_sign = |c: char| !c.is_alphanumeric() && !STARS.contains(&c);
    rest.get(end..)
        .unwrap_or_default()
        .trim_start_matches(is_sign)
}

/// What follows the last sign that separates names in a line.
fn last_clause(text: &str) -> &str {
    let mut clauses = text.rsplit(['|', '·', ';', '"', '•']);
    clauses.next().unwrap_or_default().trim()
}

/// The last line or table cell of a text, and `true`. If it says nothing, the one before, and
/// `false`: the cell of the same row, or the line above, if that is no row of cells.
fn last_line(text: &str) -> (&str, bool) {
    let start = text.rfind(['\n', '\t']).map_or(0, |at| at + 1);
    let (before, last) = text.split_at(start);
    if last.contains(char::is_alphanumeric) {
        return (last, true);
    }
    if let Some(row) = before.strip_suffix('\t') {
        let cell = row.rsplit(['\n', '\t']).next();
        return (cell.unwrap_or_default(), false);
    }
    let above = before.strip_suffix('\n').unwrap_or_default();
    let line = above.rsplit('\n').next().unwrap_or_default();
    (if line.contains('\t') { "" } else { line }, false)
}

/// "No", "No, thanks". In a sentence of another language the word means something else.
pub(super) fn is_no(label: &str) -> bool {
    let label = label.trim().to_ascii_lowercase();
    let rest = label.strip_prefix("no");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '.', '!', ';', ':']))
        || label.starts_with("no thank")
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://a.com/v";

    /// The name of the last URL of a text.
    fn name(text: &str) -> String {
        let text = text.replace("URL", URL);
        let at = text.rfind(URL).unwrap();
        let steps = Steps::for_size(text.len());
        Name::of(&text, &(at..at + URL.len()), &steps)
            .label
            .to_owned()
    }

    #[test]
    fn text_before_a_url_names_it() {
        for text in [
            "Confirm:\tURL",
            "Hello\nConfirm:\nURL",
            "Confirm (URL)",
            "Confirm ( URL )",
            "Confirm -> URL",
            "Confirm = URL",
            "[Confirm](URL)",
            "Help: https://a.com/h; Confirm:\"URL\"",
            "Hello\n** Confirm **\n    URL",
            ">> Confirm\nURL",
            "  Confirm   URL\n",
            "Delete -> https://a.com/d / Confirm -> URL",
            "Delete: https://a.com/d / Confirm: URL",
        ] {
            assert_eq!(name(text), "Confirm", "{text}");
        }
    }

    #[test]
    fn text_behind_a_url_names_it() {
        for text in [
            "URL (Confirm)",
            "URL\n(Confirm)",
            "URL <- Confirm",
            "URL - Confirm\nBye",
            "https://a.com/d (Delete)\nURL (Confirm)",
        ] {
            assert_eq!(name(text), "Confirm", "{text}");
        }
    }

    #[test]
    fn reference_to_a_footnote_names_its_url() {
        for (text, label) in [
            (
                "Read the rules [1], or confirm [2].\n[1] https://a.com/r\n[2] URL",
                "or confirm",
            ),
            ("Delete (a)\n\nConfirm (b)\n\n(b) URL", "Confirm"),
            ("Confirm[1].\n---\n1. URL", "Confirm"),
            (
                "[1] Confirm\n[2] Delete\n\n[1] https://a.com/c\n[2] URL",
                "Delete",
            ),
            (
                "(1) Delete\n(2) Confirm\n\n(1) https://a.com/d\n(2) URL",
                "Confirm",
            ),
        ] {
            assert_eq!(name(text), label, "{text}");
        }
    }

    #[test]
    fn sentence_or_another_row_names_no_url() {
        for text in [
            "Delete account:\tConfirm:\nURL",
            "Hello Ana\nURL",
            "If you cannot sign in with the button, open the following link:\nURL",
            "Confirm [1] or not.\nURL",
            "URL\n\n[Confirm](https://a.com/d)",
            "[2] URL",
            "[1] https://a.com/d\n[1] URL",
        ] {
            assert_eq!(name(text), "", "{text}");
        }
    }
}
