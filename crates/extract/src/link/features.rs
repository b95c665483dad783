//! What the model sees of a link: its words, its URL, and the rules that hold for it.

use url::Url;

use super::classify::LinkRule;
use super::collect::WrittenLink;
use crate::cue;
use crate::lexicon::cue_hits;
use crate::model::{Detail, Features, words};
use crate::reading::{Reading, TextSource};
use crate::steps::Steps;

/// How many words of the mail are features of all its links.
const MAIL_WORDS: usize = 400;

/// The features that all links of a mail share.
pub(super) fn of_mail(readings: &[Reading], steps: &Steps<'_>) -> Features {
    let mut features = Features::default();
    features.add("bias", "");
    for reading in readings {
        let text = reading.text();
        let kind = format!("cue {:?}", reading.source);
        let cues = cue_hits(cue::examined(text), steps);
        cue::add(&kind, &cues, &mut features);
        if reading.source == TextSource::Subject {
            let all: Vec<&str> = words(text).take(30).collect();
            features.add_words("subject", &all, Detail::Pieces);
        } else {
            let all: Vec<&str> = words(text).take(MAIL_WORDS).collect();
            features.add_words("mail", &all, Detail::Words);
        }
    }
    features.unique()
}

/// The features of one link. `rules` are those that hold for it, and `token_strength` says
/// how much of its URL only the recipient can know.
pub(super) fn of_link(
    written: &WrittenLink,
    url: &Url,
    rules: &[LinkRule],
    token_strength: u8,
    steps: &Steps<'_>,
) -> Features {
    let mut features = Features::of_candidate();
    for (kind, text) in [
        ("cue label", &written.label),
        ("cue sentence", &written.sentence),
        ("cue before", &written.before),
    ] {
        cue::add(kind, &cue_hits(text, steps), &mut features);
    }
    for rule in rules {
        features.add("rule", &format!("{rule:?}"));
    }
    let points: i32 = rules.iter().map(|rule| rule.points()).sum();
    features.add("points", &(points.div_euclid(10).clamp(-6, 15)).to_string());
    features.add("token", &token_strength.to_string());
    features.add("source", &format!("{:?}", written.source));
    let label: Vec<&str> = words(&written.label).take(12).collect();
    features.add_words("label", &label, Detail::Pieces);
    features.add("label length", &label.len().min(8).to_string());
    let sentence: Vec<&str> = words(&written.sentence).take(30).collect();
    features.add_words("sentence", &sentence, Detail::Pieces);
    let before: Vec<&str> = words(&written.before).rev().take(20).collect();
    features.add_words("before", &before, Detail::Pieces);
    let segments = url.path_segments().into_iter().flatten();
    let mut depth = 0_usize;
    for segment in segments.filter(|segment| !segment.is_empty()) {
        depth += 1;
        let parts: Vec<&str> = words(segment).filter(|part| is_name(part)).collect();
        features.add_words("path", &parts, Detail::Pieces);
    }
    features.add("depth", &depth.min(6).to_string());
    for (name, value) in url.query_pairs().take(10) {
        features.add("parameter", &name);
        features.add("parameter size", &(value.len() / 8).min(8).to_string());
        if is_name(&value) {
            features.add("parameter value", &value);
        }
    }
    let host = url.host_str().unwrap_or_default();
    if let Some((first, _)) = host.split_once('.') {
        features.add("host", first);
    }
    features.add(
        "fragment",
        if url.fragment().is_some() {
            "yes"
        } else {
            "no"
        },
    );
    features.unique()
}

/// Where the link is among the links of the mail, and how many targets there are.
pub(super) fn of_place(place: usize, targets: usize, features: &mut Features) {
    features.add("place", &place.min(6).to_string());
    features.add("targets", &targets.min(8).to_string());
    features.add("place of", &format!("{} {}", place.min(3), targets.min(4)));
}

/// A word, and not a part of a random token.
fn is_name(part: &str) -> bool {
    part.len() <= 16 && part.bytes().all(|byte| byte.is_ascii_lowercase())
}
