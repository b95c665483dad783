//! Collects every link of a reading with the words around it.

use std::ops::Range;

use url::Url;

use super::beside::beside;
use super::label::Name;
use super::surroundings::{REACH, after, before, sentence, text_before};
use crate::host;
use crate::lexicon::Languages;
use crate::reading::{Reading, TextSource};
use crate::steps::Steps;
use crate::url_text;

/// More than any honest mail has.
const MAX_LINKS: usize = 300;
/// Steps charged for collecting a link, besides its bytes.
const PER_LINK: usize = 500;
/// Steps charged for each byte of an address in the text, which is copied and searched.
const PER_BYTE: usize = 8;
/// A bracketed address may be this long, line breaks included.
const MAX_BRACKETED: usize = 2_100;

/// A link as it is written in the mail.
#[derive(Debug, Clone)]
pub(super) struct WrittenLink {
    pub(super) source: TextSource,
    /// The languages of its text.
    pub(super) languages: Languages,
    pub(super) href: String,
    /// Its text. If its text is only a URL, the label around it; empty if there is none.
    pub(super) label: String,
    /// The hosts of the addresses in its text.
    pub(super) shown_hosts: Vec<String>,
    /// It has a label that does not stand behind it.
    pub(super) is_named: bool,
    /// What is written beside a URL, besides its label. It may say that the URL must not be
    /// followed.
    pub(super) beside: String,
    /// The sentence or line that it is in, without the link itself.
    pub(super) sentence: String,
    /// The text before that sentence.
    pub(super) before: String,
    /// The text after that sentence.
    pub(super) after: String,
    /// All text before the link that can say something about it.
    pub(super) earlier: String,
    /// Where it begins and ends in the folded text, with its label if that is its text.
    pub(super) at: usize,
    pub(super) end: usize,
    /// A person may or may not see it.
    pub(super) is_unclear: bool,
}

/// Collects the links of a reading. Returns whether there are more than are examined.
pub(super) fn collect(reading: &Reading, steps: &Steps<'_>) -> (Vec<WrittenLink>, bool) {
    let mut found = Vec::new();
    for anchor in &reading.anchors {
        if !steps.charge(PER_LINK + anchor.href.len() + anchor.span.len()) {
            break;
        }
        let shown = reading
            .text()
            .get(anchor.span.clone())
            .unwrap_or_default()
            .trim();
        let address = written_address(shown);
        // What names a URL that is its own text stands around it, as in plain text.
        let name = address
            .as_ref()
            .map(|_| Name::of(reading.text(), &anchor.span, steps));
        let label = name.as_ref().map_or(shown, |name| name.label);
        let label = format!("{label} {}", anchor.alternative).trim().to_owned();
        found.push(WrittenLink {
            source: reading.source,
            languages: reading.languages,
            href: anchor.href.clone(),
            is_named: name.as_ref().is_none_or(|name| name.is_named) && !label.is_empty(),
            label,
            shown_hosts: address.map_or_else(|| shown_hosts(shown), |address| vec![address]),
            beside: name.map_or_else(String::new, |name| {
                beside(reading.text(), &anchor.span, name.reference.is_some())
            }),
            sentence: sentence(reading.text(), &anchor.span),
            before: before(reading.text(), &anchor.span),
            after: after(reading.text(), &anchor.span),
            earlier: text_before(reading.text(), anchor.span.start).to_owned(),
            at: anchor.span.start,
            end: anchor.span.end,
            is_unclear: anchor.is_unclear,
        });
    }
    steps.charge(4 * reading.text().len());
    let addresses = addresses(reading.text());
    let is_cut = addresses.len() >= MAX_LINKS;
    for span in addresses {
        if !steps.charge(PER_LINK + reading.anchors.len() + PER_BYTE * span.len()) {
            break;
        }
        let linked = reading
            .anchors
            .iter()
            .any(|anchor| anchor.span.start <= span.start && span.start < anchor.span.end);
        if !linked {
            found.push(written(reading, &span, steps));
        }
    }
    (found, is_cut)
}

/// A URL written out in the text.
fn written(reading: &Reading, span: &Range<usize>, steps: &Steps<'_>) -> WrittenLink {
    let text = reading.text();
    let mut href: String = text
        .get(span.clone())
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    if !reading.folded.is_verbatim(span) {
        // Folding removed or replaced a character here; the gate must refuse it.
        href.push('\u{fffd}');
    } else if is_broken(text, span) {
        // The next line may be the rest of the URL; the gate must refuse it too.
        href.push('\u{fffd}');
    }
    if reading.source == TextSource::Text && href.contains("&amp;") {
        // A template escaped it as if the text were HTML.
        href = href.replace("&amp;", "&");
    }
    let name = Name::of(text, span, steps);
    let place = name.reference.as_ref().unwrap_or(span);
    WrittenLink {
        source: reading.source,
        languages: reading.languages,
        href,
        label: name.label.to_owned(),
        is_named: name.is_named && !name.label.is_empty(),
        shown_hosts: Vec::new(),
        beside: beside(text, span, name.reference.is_some()),
        sentence: sentence(text, place),
        before: before(text, place),
        after: after(text, place),
        earlier: text_before(text, place.start).to_owned(),
        at: span.start,
        end: span.end,
        is_unclear: reading.is_unclear(span.start),
    }
}

/// Whether the URL ends its line and the next line goes on with it.
fn is_broken(text: &str, span: &Range<usize>) -> bool {
    let rest = text.get(span.end..).unwrap_or_default();
    let Some(next) = rest.trim_start_matches(' ').strip_prefix('\n') else {
        return false;
    };
    let url = text.get(span.clone()).unwrap_or_default();
    let next = next
        .get(..next.floor_char_boundary(2 * REACH))
        .unwrap_or_default();
    let is_bracketed = url.contains('\n') || rest.starts_with('>');
    !is_bracketed && url_text::continues(url, next.lines().next().unwrap_or_default())
}

/// The ranges of the URLs in a text. A URL in `<...>` may continue over lines.
/// Punctuation that ends a sentence is no part of a URL.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = next_scheme(text, from) {
        let rest = text.get(at..).unwrap_or_default();
        let bracketed = text.get(..at).is_some_and(|before| before.ends_with('<'));
        let window = rest.get(..rest.floor_char_boundary(MAX_BRACKETED));
        let closed = window
            .filter(|_| bracketed)
            .and_then(|window| window.find('>'));
        let length = if let Some(end) = closed {
            end
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"'))
                .unwrap_or(rest.len());
            // A link of Markdown whose words are its URL: `[URL](URL)`.
            let end = rest
                .get(..end)
                .and_then(|all| all.find("]("))
                .unwrap_or(end);
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

/// The length of a URL without punctuation that ends a sentence. A closing bracket
/// belongs to the URL if the URL has the opening one.
fn trimmed(address: &str) -> usize {
    // More closing than opening brackets, counted once and kept up to date.
    let surplus = |open: u8, close: u8| {
        address.bytes().fold(0_i64, |surplus, byte| {
            surplus + i64::from(byte == close) - i64::from(byte == open)
        })
    };
    let (mut round, mut square, mut curly) = (
        surplus(b'(', b')'),
        surplus(b'[', b']'),
        surplus(b'{', b'}'),
    );
    let mut end = address.len();
    for last in address.chars().rev() {
        let surplus = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '\\' => &mut 1,
            ')' => &mut round,
            ']' => &mut square,
            '}' => &mut curly,
            _ if !last.is_ascii() => &mut 1,
            _ => break,
        };
        if *surplus <= 0 {
            break;
        }
        *surplus -= 1;
        end -= last.len_utf8();
    }
    end
}

/// The hosts of the URLs in the text of a link.
fn shown_hosts(shown: &str) -> Vec<String> {
    let host = |span: Range<usize>| {
        let url = Url::parse(shown.get(span.clone())?).ok()?;
        let rest = shown.get(span.end..)?;
        // `https://exam...` names no host.
        let is_cut = url.path() == "/" && rest.starts_with(['.', '…']);
        let host = host::domain(&url).ok().filter(|_| !is_cut)?;
        Some(host.to_owned())
    };
    addresses(shown).into_iter().filter_map(host).collect()
}

/// The host that a text names, if the text is nothing but a URL or a host.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn hrefs(text: &str) -> Vec<String> {
        let steps = Steps::for_size(text.len());
        collect(&Reading::of_text(text, 10_000, &steps), &steps)
            .0
            .into_iter()
            .map(|found| found.href)
            .collect()
    }

    #[test]
    fn punctuation_after_a_url_is_not_part_of_it() {
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
    fn bracketed_url_continues_over_lines() {
        assert_eq!(
            hrefs("Go to <https://a.com/v?\n  t=12> now"),
            ["https://a.com/v?t=12"]
        );
    }

    #[test]
    fn url_broken_over_two_lines_is_refused_by_the_gate() {
        let broken = "Open https://a.com/v?t=Zk3v9QmB7t\nY1abcd to confirm";
        assert!(hrefs(broken).iter().all(|href| !href.is_ascii()));
        let whole = "Open https://a.com/v?t=Zk3v9QmB7tY1abcd\nThanks";
        assert_eq!(hrefs(whole), ["https://a.com/v?t=Zk3v9QmB7tY1abcd"]);
    }

    #[test]
    fn url_with_an_invisible_character_is_not_ascii() {
        assert!(
            hrefs("https://exam\u{200b}ple.com/v")
                .iter()
                .all(|href| !href.is_ascii())
        );
    }

    #[test]
    fn text_that_is_only_a_url_names_its_host() {
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
