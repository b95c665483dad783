//! What is written beside a URL, besides its label. It may say that the URL must not be followed.

use std::ops::Range;

use super::label::{BULLETS, begins_line, is_short};
use super::surroundings::{REACH, sentence, text_before};

/// The line of a footnote; for any other URL the short line above or below it.
pub(super) fn beside(text: &str, span: &Range<usize>, is_footnote: bool) -> String {
    if is_footnote {
        return sentence(text, span);
    }
    let above = line_above(text, span);
    if above.is_empty() {
        line_below(text, span).to_owned()
    } else {
        above.to_owned()
    }
}

/// The short line above a URL that begins a line, if it is no sentence. A blank line may come
/// between if there is a colon. Such a line may say what must not be followed.
fn line_above<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let before = text_before(text, span.start).trim_end_matches(BULLETS);
    let Some(above) = before.strip_suffix('\n') else {
        return "";
    };
    let written = above.trim_end_matches(['\n', ' ']);
    let line = written.rsplit('\n').next().unwrap_or_default().trim();
    let gap = above.get(written.len()..).unwrap_or_default();
    let is_near = !gap.contains('\n') && !line.ends_with(['.', ',', ';']);
    if (is_near || line.ends_with(':')) && is_short(line) {
        line
    } else {
        ""
    }
}

/// The short line directly below a URL that has a line of its own, if it is no sentence, and only
/// a blank line or another URL follows. It may say what must not be followed, as the line above.
fn line_below<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    let rest = text.get(span.end..text.floor_char_boundary(span.end + REACH));
    let rest = rest
        .unwrap_or_default()
        .trim_start_matches(['>', ')', ']', ' ']);
    let Some(below) = rest
        .strip_prefix('\n')
        .filter(|_| begins_line(text, span.start))
    else {
        return "";
    };
    let (line, next) = below.split_once('\n').unwrap_or((below, ""));
    let ends_sentence = line.trim_end().ends_with(['.', ':', '。', '।']);
    let line = line.trim_matches(|c: char| !c.is_alphanumeric());
    let is_sentence = ends_sentence || line.contains(['?', '!']);
    let next = next.split('\n').next().unwrap_or_default();
    let is_last = !next.contains(char::is_alphanumeric) || next.contains("://");
    if is_last && !is_sentence && is_short(line) {
        line
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_below_a_url_belongs_to_it_unless_it_is_a_sentence_or_names_the_next() {
        const URL: &str = "https://a.com/v";
        let below = |text: &str| {
            let text = text.replace("URL", URL);
            let at = text.find(URL).unwrap();
            line_below(&text, &(at..at + URL.len())).to_owned()
        };
        assert_eq!(below("URL\nThis wasn't me"), "This wasn't me");
        assert_eq!(below("URL\nThis wasn't me!"), "This wasn't me");
        assert_eq!(below("URL\n^ Cancel\n\nBye"), "Cancel");
        assert_eq!(below("URL\nCancel\nhttps://a.com/c"), "Cancel");
        for text in [
            "URL\nConfirm:\nhttps://a.com/c",
            "URL\nNot you? Ignore this mail.",
            "URL\nNot you? Ignore this mail!",
            "URL\n心当たりのない場合は、このメールを削除してください。",
            "URL\nNot you?\nIgnore this mail.",
            "URL\n\nCancel",
        ] {
            assert_eq!(below(text), "", "{text}");
        }
    }
}
