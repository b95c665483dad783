//! Links that are only understood beside another link of the mail.

use std::collections::HashSet;

use url::Url;

use super::LinkCandidate;
use crate::link::address::{senses, token_strength};
use crate::link::classify::ACTION;
use crate::reading::TextSource;

/// Removes copies that a program has joined with the next word, and protects variants.
pub(super) fn compare(candidates: &mut Vec<LinkCandidate>) {
    let urls: Vec<Option<Url>> = candidates
        .iter()
        .map(|link| {
            Url::parse(&link.href)
                .ok()
                .filter(|url| token_strength(url) > 0)
        })
        .collect();
    protect_variants(candidates, &urls);
    let mut anchors: Vec<String> = candidates
        .iter()
        .zip(&urls)
        .filter(|(link, url)| link.source == TextSource::Html && url.is_some())
        .map(|(link, _)| link.href.clone())
        .collect();
    anchors.sort_unstable();
    anchors.dedup();
    candidates.retain(|link| {
        link.source != TextSource::Text || !is_joined_with_text(&link.href, &anchors)
    });
}

/// Whether a URL of the text is the address of an anchor and the first letters of the text
/// after it: programs that make text of HTML forget a space.
fn is_joined_with_text(href: &str, anchors: &[String]) -> bool {
    // An anchor that begins the URL is one of the last that are sorted before it.
    let before = anchors.partition_point(|anchor| anchor.as_str() < href);
    let near = anchors.get(..before).unwrap_or_default().iter().rev();
    near.take(4).any(|anchor| {
        href.strip_prefix(anchor.as_str())
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}

/// Protects `/invitation/7c1e-90ab/weiger` beside `/invitation/7c1e-90ab`. The longer one
/// does something else with the same thing, and in most mails that is to refuse it.
fn protect_variants(candidates: &mut [LinkCandidate], urls: &[Option<Url>]) {
    let place = |url: &Url, path: &str| format!("{}{path}", url.host_str().unwrap_or_default());
    let known: HashSet<String> = urls
        .iter()
        .flatten()
        .map(|url| place(url, url.path().trim_end_matches('/')))
        .collect();
    for link in candidates {
        let Ok(url) = Url::parse(&link.href) else {
            continue;
        };
        let Some((path, word)) = url.path().trim_end_matches('/').rsplit_once('/') else {
            continue;
        };
        let is_word = !word.is_empty() && !word.bytes().any(|byte| byte.is_ascii_digit());
        let names_action = || {
            let mut last = url.clone();
            last.set_path(word);
            last.set_query(None);
            senses(&last).says(ACTION)
        };
        if is_word && !path.is_empty() && known.contains(&place(&url, path)) && !names_action() {
            link.protect();
        }
    }
}
