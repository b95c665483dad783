//! What the model sees of a link: its words, its URL, and the rules that hold for it.

use url::Url;

use super::classify::LinkRule;
use super::collect::WrittenLink;
use crate::cue;
use crate::lexicon::cue_hits;
use crate::model::{Collector, Detail, Features, Kind, words};
use crate::reading::{Reading, TextSource};
use crate::steps::Steps;

/// How many words of the mail are features of all its links.
const MAIL_WORDS: usize = 400;

/// The features that all links of a mail share.
pub(super) fn of_mail(
    readings: &[Reading],
    features: &mut Collector,
    steps: &Steps<'_>,
) -> Features {
    features.add("bias", "");
    for reading in readings {
        let kind = Kind::of(match reading.source {
            TextSource::Subject => "cue subject",
            TextSource::Text => "cue text",
            TextSource::Html => "cue html",
        });
        cue::add(kind, reading.cues(steps), features);
        let text = reading.small();
        if reading.source == TextSource::Subject {
            let all = words(text).take(30);
            features.add_words(Kind::of("subject"), all, Detail::Pieces);
        } else {
            let all = words(text).take(MAIL_WORDS);
            features.add_words(Kind::of("mail"), all, Detail::Words);
        }
    }
    features.take()
}

/// The features of one link. `rules` are those that hold for it, and `token_strength` says
/// how much of its URL only the recipient can know.
pub(super) fn of_link(
    written: &WrittenLink,
    url: &Url,
    rules: &[LinkRule],
    (token_strength, features): (u8, &mut Collector),
    steps: &Steps<'_>,
) -> Features {
    for (kind, text) in [
        ("cue label", &written.label),
        ("cue sentence", &written.sentence),
        ("cue before", &written.before),
    ] {
        cue::add(Kind::of(kind), &cue_hits(text, steps), features);
    }
    for rule in rules {
        features.add("rule", rule.name());
    }
    let points: i32 = rules.iter().map(|rule| rule.points()).sum();
    let tens = points.div_euclid(10).clamp(-6, 15);
    features.add_kind(Kind::of("points").then_number(tens));
    features.add_kind(Kind::of("token").then_number(token_strength.into()));
    features.add("source", written.source.name());
    let label = written.label.to_ascii_lowercase();
    features.add_words(Kind::of("label"), words(&label).take(12), Detail::Pieces);
    let length = words(&label).take(8).count();
    features.add_kind(counted("label length", length));
    let sentence = written.sentence.to_ascii_lowercase();
    let sentence = words(&sentence).take(30);
    features.add_words(Kind::of("sentence"), sentence, Detail::Pieces);
    let before = written.before.to_ascii_lowercase();
    let early = words(&before).count().saturating_sub(20);
    let before = words(&before).skip(early);
    features.add_words(Kind::of("before"), before, Detail::Pieces);
    let segments = url.path_segments().into_iter().flatten();
    let mut depth = 0_usize;
    for segment in segments.filter(|segment| !segment.is_empty()) {
        depth += 1;
        let parts = words(segment).filter(|part| is_name(part));
        features.add_words(Kind::of("path"), parts, Detail::Pieces);
    }
    features.add_kind(counted("depth", depth.min(6)));
    for (name, value) in url.query_pairs().take(10) {
        features.add("parameter", &name);
        features.add_kind(counted("parameter size", (value.len() / 8).min(8)));
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
    features.take()
}

/// Where the link is among the links of the mail, and how many targets there are.
pub(super) fn of_place(place: usize, targets: usize, features: &mut Features) {
    features.add(counted("place", place.min(6)));
    features.add(counted("targets", targets.min(8)));
    let place = counted("place of", place.min(3)).then(" ");
    features.add(place.then_number(small(targets.min(4))));
}

/// A word, and not a part of a random token.
fn is_name(part: &str) -> bool {
    part.len() <= 16 && part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// A feature that is a small number.
fn counted(kind: &str, count: usize) -> Kind {
    Kind::of(kind).then_number(small(count))
}

fn small(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
