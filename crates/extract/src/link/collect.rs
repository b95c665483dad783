//! Every link in a reading, with the words that belong to it.

use std::ops::Range;

use crate::reading::{Reading, Source};

/// More than any honest mail has.
const MAX_LINKS: usize = 500;
/// How much text around a link may speak about it, in bytes.
const REACH: usize = 240;

/// A link as it stands in the mail.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) source: Source,
    pub(super) href: String,
    /// What the link is called; empty if it is only its own address.
    pub(super) label: String,
    /// The host that its text pretends to lead to.
    pub(super) shown_host: Option<String>,
    /// The sentence or line it stands in, without the link itself.
    pub(super) sentence: String,
    /// What stands before that.
    pub(super) before: String,
    pub(super) at: usize,
}

/// Collects the links of a reading.
pub(super) fn collect(reading: &Reading) -> Vec<Found> {
    let mut found = Vec::new();
    for anchor in &reading.anchors {
        let shown = reading
            .text()
            .get(anchor.span.clone())
            .unwrap_or_default()
            .trim();
        let address = written_address(shown);
        let label = if address.is_some() {
            String::new()
        } else {
            shown.to_owned()
        };
        found.push(Found {
            source: reading.source,
            href: anchor.href.clone(),
            label: format!("{label} {}", anchor.alternative).trim().to_owned(),
            shown_host: address,
            sentence: sentence(reading.text(), &anchor.span),
            before: before(reading.text(), &anchor.span),
            at: anchor.span.start,
        });
    }
    for span in addresses(reading.text()) {
        if found.len() >= MAX_LINKS {
            break;
        }
        let linked = reading
            .anchors
            .iter()
            .any(|anchor| anchor.span.start <= span.start && span.start < anchor.span.end);
        if !linked {
            found.push(written(reading, &span));
        }
    }
    found
}

/// An address written out in the text.
fn written(reading: &Reading, span: &Range<usize>) -> Found {
    let text = reading.text();
    let mut href: String = text
        .get(span.clone())
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    if !reading.folded.is_verbatim(span) {
        // Something invisible or foreign was folded away; the gate must see it.
        href.push('\u{fffd}');
    }
    let line_start = text
        .get(..span.start)
        .and_then(|before| before.rfind(['\n', '\t']))
        .map_or(0, |at| at + 1);
    let label = text.get(line_start..span.start).unwrap_or_default();
    let label = label
        .trim()
        .strip_suffix(':')
        .map(|label| last_sentence(label).to_owned())
        .unwrap_or_default();
    Found {
        source: reading.source,
        href,
        label,
        shown_host: None,
        sentence: sentence(text, span),
        before: before(text, span),
        at: span.start,
    }
}

/// Where addresses begin and end: `<...>` may wrap over lines, and signs that
/// end sentences do not belong to them.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = next_scheme(text, from) {
        let rest = text.get(at..).unwrap_or_default();
        let bracketed = text.get(..at).is_some_and(|before| before.ends_with('<'));
        let length = if bracketed && let Some(end) = rest.find('>').filter(|end| *end < 2_100) {
            end
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"'))
                .unwrap_or(rest.len());
            trimmed(rest.get(..end).unwrap_or_default())
        };
        found.push(at..at + length);
        from = at + length.max(1);
        if found.len() >= MAX_LINKS {
            break;
        }
    }
    found
}

fn next_scheme(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    let mut at = 0;
    loop {
        let found = memchr::memmem::find(rest.get(at..)?, b"://")? + at;
        let start = rest
            .get(..found)?
            .iter()
            .rposition(|byte| !byte.is_ascii_alphabetic())
            .map_or(0, |last| last + 1);
        let scheme = rest.get(start..found)?;
        if scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http") {
            return Some(from + start);
        }
        at = found + 3;
    }
}

/// The length without signs that end a sentence; brackets count in pairs.
fn trimmed(address: &str) -> usize {
    let mut end = address.len();
    while let Some(last) = address.get(..end).and_then(|kept| kept.chars().next_back()) {
        let kept = address.get(..end).unwrap_or_default();
        let unbalanced =
            |open: char, close: char| kept.matches(close).count() > kept.matches(open).count();
        let drop = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '\\' => true,
            ')' => unbalanced('(', ')'),
            ']' => unbalanced('[', ']'),
            '}' => unbalanced('{', '}'),
            _ => !last.is_ascii(),
        };
        if !drop {
            break;
        }
        end -= last.len_utf8();
    }
    end
}

/// The host a text names if the text is nothing but an address.
fn written_address(shown: &str) -> Option<String> {
    if shown.contains(char::is_whitespace) {
        return None;
    }
    let bare = shown.split_once("://").map_or(shown, |(_, rest)| rest);
    let host = bare
        .split(['/', '?', '#', ':'])
        .next()?
        .to_ascii_lowercase();
    let top = host.rsplit_once('.').map(|(_, top)| top)?;
    let is_host = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        && top.len() >= 2
        && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_host && !shown.contains('@')).then_some(host)
}

fn sentence(text: &str, span: &Range<usize>) -> String {
    let start = span.start.saturating_sub(REACH);
    let head = text
        .get(text.ceil_char_boundary(start)..span.start)
        .unwrap_or_default();
    let tail = text
        .get(span.end..text.floor_char_boundary(span.end + REACH))
        .unwrap_or_default();
    let head = head.rsplit(['\n', '\t']).next().unwrap_or_default();
    let tail = tail.split(['\n', '\t']).next().unwrap_or_default();
    let tail = tail
        .split_inclusive(['.', '!', '?', '。'])
        .next()
        .unwrap_or_default();
    format!(
        "{} {}",
        last_sentence(head),
        if is_stop(tail) { "" } else { tail }
    )
}

fn is_stop(tail: &str) -> bool {
    tail.trim_start().starts_with(['.', '!', '?', '。'])
}

/// The lines and sentences directly before the one the link stands in.
fn before(text: &str, span: &Range<usize>) -> String {
    let start = text.ceil_char_boundary(span.start.saturating_sub(REACH));
    let head = text.get(start..span.start).unwrap_or_default();
    let lines: Vec<&str> = head
        .rsplit(['\n', '\t'])
        .filter(|line| !line.trim().is_empty())
        .take(2)
        .collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn last_sentence(text: &str) -> &str {
    let trimmed = text.trim_end_matches(['.', '!', '?', ' ']);
    let stop = trimmed
        .char_indices()
        .rev()
        .zip(trimmed.char_indices().rev().skip(1))
        .find_map(|((at, c), (_, before))| {
            (c.is_whitespace() && matches!(before, '.' | '!' | '?')).then_some(at)
        });
    let full = trimmed
        .rfind(['。', '！', '？', '।'])
        .map(|at| at + '。'.len_utf8());
    text.get(stop.max(full).unwrap_or(0)..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hrefs(text: &str) -> Vec<String> {
        collect(&Reading::of_text(text, 10_000))
            .into_iter()
            .map(|found| found.href)
            .collect()
    }

    #[test]
    fn signs_that_end_sentences_do_not_belong_to_addresses() {
        assert_eq!(
            hrefs("Open https://a.com/v?t=1). Thanks."),
            ["https://a.com/v?t=1"]
        );
        assert_eq!(
            hrefs("(see https://a.com/x_(y)), ok"),
            ["https://a.com/x_(y)"]
        );
        assert_eq!(hrefs("點擊 https://a.com/v。謝謝"), ["https://a.com/v"]);
    }

    #[test]
    fn brackets_hold_an_address_together_over_lines() {
        assert_eq!(
            hrefs("Go to <https://a.com/v?\n  t=12> now"),
            ["https://a.com/v?t=12"]
        );
    }

    #[test]
    fn invisible_characters_stay_visible_to_the_gate() {
        assert!(
            hrefs("https://exam\u{200b}ple.com/v")
                .iter()
                .all(|href| !href.is_ascii())
        );
    }

    #[test]
    fn a_text_that_is_an_address_names_its_host() {
        assert_eq!(
            written_address("https://Example.com/verify").as_deref(),
            Some("example.com")
        );
        assert_eq!(
            written_address("example.com").as_deref(),
            Some("example.com")
        );
        assert_eq!(written_address("Verify email"), None);
        assert_eq!(written_address("a@example.com"), None);
    }
}
