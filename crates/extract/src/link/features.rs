//! What the model sees of a link: its words, its URL, and the rules that hold for it.

use url::Url;

use super::classify::{Classified, Words};
use super::collect::WrittenLink;
use super::concepts::{self, Concepts};
use super::said;
use super::token::longest_number;
use crate::cue;
use crate::lexicon::{Hit, Languages, Sense, cue_hits, link_cue_hits};
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
    features.add_kind(const { Kind::of("bias") });
    for reading in readings {
        let (cue, concept) = match reading.source {
            TextSource::Subject => ("cue subject", "concept subject"),
            TextSource::Text => ("cue text", "concept mail"),
            TextSource::Html => ("cue html", "concept mail"),
        };
        let found = reading.concepts(steps);
        cue::add(Kind::of(cue), &found.cues, features);
        concepts::add(Kind::of(concept), &found.hits, features);
        let text = reading.small();
        if reading.source == TextSource::Subject {
            let all = words(text).take(30);
            features.add_words(const { Kind::of("subject") }, all, Detail::Pieces);
        } else {
            let all = words(text).take(MAIL_WORDS);
            features.add_words(const { Kind::of("mail") }, all, Detail::Words);
        }
    }
    features.take()
}

/// The features of one link. `address` is what the words of its URL say, and `token_strength`
/// how much of it only the recipient can know.
pub(super) fn of_link(
    (written, concepts): (&WrittenLink, Concepts<'_>),
    url: &Url,
    (said, classified, address): (&Words, &Classified, Sense),
    (token_strength, features): (u8, &mut Collector),
    steps: &Steps<'_>,
) -> Features {
    add_text(
        "label",
        (&written.label, written.languages),
        features,
        steps,
    );
    said::add("label ", said.label, said.cues.label, features);
    let length = words(&written.label).take(8).count();
    features.add_kind(counted("label length", length));
    concepts.add_own(written, features, steps);
    features.end_part();
    add_text(
        "sentence",
        (&written.sentence, written.languages),
        features,
        steps,
    );
    said::add("sentence ", said.sentence, said.cues.sentence, features);
    concepts.add_line(written, features);
    features.end_part();
    add_text(
        "before",
        (&written.before, written.languages),
        features,
        steps,
    );
    said::add("before ", said.above, said.cues.above, features);
    concepts.add_above(written, features);
    features.end_part();
    add_text(
        "after",
        (&written.after, written.languages),
        features,
        steps,
    );
    said::add("after ", said.after, said.cues.after, features);
    features.end_part();
    add_url(url, features);
    let cues = url_cues(url, steps);
    said::add("url ", address, cues, features);
    features.end_part();
    for rule in &classified.rules {
        features.add_kind(const { Kind::of("rule") }.then(rule.name()));
    }
    let points = classified.score().div_euclid(10).clamp(-6, 15);
    features.add_kind(const { Kind::of("points") }.then_number(points));
    features.add_kind(const { Kind::of("token") }.then_number(token_strength.into()));
    features.add_kind(const { Kind::of("source") }.then(written.source.name()));
    said::add_together(said, (address, cues), features);
    features.take()
}

/// The words at one place, and what they stand for in the languages of the text.
fn add_text(
    place: &str,
    (text, languages): (&str, Languages),
    features: &mut Collector,
    steps: &Steps<'_>,
) {
    let small = text.to_ascii_lowercase();
    let count = words(&small).count();
    // Of the text before, the last words count.
    let (skipped, taken) = match place {
        "label" => (0, 12),
        "before" => (count.saturating_sub(20), 20),
        _ => (0, 30),
    };
    let words = words(&small).skip(skipped).take(taken);
    features.add_words(Kind::of(place), words, Detail::Pieces);
    cue::add(
        const { Kind::of("cue ") }.then(place).then(" "),
        &cue_hits(text, languages, steps),
        features,
    );
}

fn add_url(url: &Url, features: &mut Collector) {
    let segments = url.path_segments().into_iter().flatten();
    let mut depth = 0_usize;
    for segment in segments.filter(|segment| !segment.is_empty()) {
        depth += 1;
        let parts = words(segment).filter(|part| is_name(part));
        features.add_words(const { Kind::of("path") }, parts, Detail::Pieces);
    }
    features.add_kind(counted("depth", depth.min(6)));
    for (name, value) in url.query_pairs().take(10) {
        features.add_kind(const { Kind::of("parameter") }.then(&name));
        features.add_kind(counted("parameter size", (value.len() / 8).min(8)));
        if is_name(&value) {
            features.add_kind(const { Kind::of("parameter value") }.then(&value));
        }
    }
    features.add_kind(counted("number", longest_number(url).min(20)));
    let host = url.host_str().unwrap_or_default();
    if let Some((first, _)) = host.split_once('.') {
        features.add_kind(const { Kind::of("host") }.then(first));
    }
    let fragment = if url.fragment().is_some() {
        "yes"
    } else {
        "no"
    };
    features.add_kind(const { Kind::of("fragment") }.then(fragment));
}

/// The cues in the path of a URL, whose words may be of any language.
fn url_cues(url: &Url, steps: &Steps<'_>) -> Sense {
    let path: String = url
        .path()
        .chars()
        .map(|c| if c.is_ascii_alphabetic() { c } else { ' ' })
        .collect();
    Hit::senses(&link_cue_hits(&path, steps))
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
