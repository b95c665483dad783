//! Links that are only understood beside another link of the mail.

use std::collections::{HashMap, HashSet};

use url::Url;

use super::candidate::LinkCandidate;
use crate::link::address::senses;
use crate::link::classify::ACTION;
use crate::link::token::token_strength;
use crate::reading::TextSource;

/// Removes copies that a program has joined with the next word, protects variants, and
/// marks equal labels.
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
    mark_equal_labels(candidates);
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

/// Sets `has_ambiguous_label` on links that have the same label and host but different
/// targets: "if it was you, click here; if not, click here". Only their sentences tell them
/// apart, and a sentence can be misread, so the model must be sure of each. A link with a token
/// is not compared with one without.
fn mark_equal_labels(candidates: &mut [LinkCandidate]) {
    let keys: Vec<_> = candidates
        .iter()
        .map(|link| {
            let checked = link.checked.as_ref().ok()?;
            let has_token = token_strength(&checked.url) > 0;
            Some((link.label.clone()?, checked.host.clone(), has_token))
        })
        .collect();
    let mut targets: HashMap<&(String, String, bool), LabelTargets> = HashMap::new();
    for (link, key) in candidates.iter().zip(&keys) {
        if let (Some(target), Some(key)) = (link.target, key) {
            let known = targets.entry(key).or_insert(LabelTargets::One(target));
            if *known != LabelTargets::One(target) {
                *known = LabelTargets::Several;
            }
        }
    }
    for (link, key) in candidates.iter_mut().zip(&keys) {
        let known = key.as_ref().and_then(|key| targets.get(key));
        link.has_ambiguous_label = known == Some(&LabelTargets::Several);
    }
}

/// The targets of the links that have one label.
#[derive(PartialEq, Eq)]
enum LabelTargets {
    One(usize),
    Several,
}
