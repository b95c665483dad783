//! What the model sees of a candidate: its shape, its place, the rules that hold for it,
//! and the words around it.

use super::candidate::Candidate;
use super::context::Context;
use super::number::{is_compact_date, is_year};
use super::rule::Rule;
use super::spread::Spread;
use crate::cue;
use crate::lexicon::{Hit, Sense};
use crate::model::{Detail, Features, words};
use crate::reading::{Reading, TextSource};

/// How many bytes of text on each side, and of the lines around, are looked at.
const REACH: usize = 90;
/// How many words of the mail are features of all its candidates.
const MAIL_WORDS: usize = 400;

/// The senses that are features by themselves.
const SENSES: &[(Sense, &str)] = &[
    (Sense::CODE, "code"),
    (Sense::WORD, "word"),
    (Sense::ENTER, "enter"),
    (Sense::EXPIRY, "expiry"),
    (Sense::AUTH, "auth"),
    (Sense::NUMBER, "number"),
    (Sense::KIND, "kind"),
    (Sense::MONEY, "money"),
    (Sense::STALE, "stale"),
    (Sense::MEETING, "meeting"),
    (Sense::VERIFY, "verify"),
    (Sense::CLICK, "click"),
    (Sense::NOT_ME, "not_me"),
];

/// The features that all candidates of a mail share. `cues` are those of each reading.
pub(super) fn of_mail(
    readings: &[Reading],
    (senses, subject): (Sense, Sense),
    cues: &[Vec<Hit>],
) -> Features {
    let mut features = Features::default();
    features.add("bias", "");
    for (reading, cues) in readings.iter().zip(cues) {
        let kind = if reading.source == TextSource::Subject {
            "cue subject"
        } else {
            "cue mail"
        };
        cue::add(kind, cues, &mut features);
        cue::add_counts(kind, cues, &mut features);
    }
    for reading in readings {
        let text = reading.text();
        if reading.source == TextSource::Subject {
            let all: Vec<&str> = words(text).take(30).collect();
            features.add_words("subject", &all, Detail::Pieces);
        } else {
            let all: Vec<&str> = words(text).take(MAIL_WORDS).collect();
            features.add_words("mail", &all, Detail::Words);
        }
    }
    for (sense, name) in SENSES {
        if senses.says(*sense) {
            features.add("mail says", name);
        }
        if subject.says(*sense) {
            features.add("subject says", name);
        }
    }
    features.unique()
}

/// The features of one candidate.
pub(super) fn of_candidate(
    candidate: &Candidate,
    reading: &Reading,
    around: Context<'_>,
    (rules, spread, cues): (&[Rule], &Spread, &[Hit]),
) -> Features {
    let mut features = Features::of_candidate();
    of_cues(candidate, around, cues, &mut features);
    of_shape(candidate, reading, &mut features);
    of_rules(candidate, rules, &mut features);
    spread.add(candidate, &mut features);
    of_words(candidate, around, &mut features);
    for (sense, name) in SENSES {
        if around.in_sentence(candidate, *sense) {
            features.add("sentence says", name);
        } else if around.around(candidate, *sense) {
            features.add("near says", name);
        }
    }
    features.unique()
}

/// The cues before and after a candidate in its line, and in the lines around it.
fn of_cues(candidate: &Candidate, around: Context<'_>, cues: &[Hit], features: &mut Features) {
    const NEAR: usize = 30;
    let line = |offset: isize| {
        let index = candidate.segment.checked_add_signed(offset);
        let line = index.and_then(|index| around.segments.get(index));
        line.map_or(0..0, |line| line.range.clone())
    };
    let own = line(0);
    let (start, end) = (candidate.range.start, candidate.range.end);
    let left = own.start.max(start.saturating_sub(2 * REACH))..start;
    let right = end..own.end.min(end + 2 * REACH);
    let alone = if candidate.alone { "alone " } else { "" };
    let within = |range: std::ops::Range<usize>| {
        let from = cues.partition_point(|hit| hit.start() < range.start);
        let until = cues.partition_point(|hit| hit.start() < range.end);
        cues.get(from..until).unwrap_or_default()
    };
    let near = within(start.saturating_sub(NEAR).max(own.start)..start);
    cue::add("cue left near", near, features);
    cue::add(
        "cue right near",
        within(end..own.end.min(end + NEAR)),
        features,
    );
    cue::add("cue left", within(left.clone()), features);
    cue::add("cue right", within(right.clone()), features);
    cue::add(
        &format!("{alone}cue line"),
        within(left.start..right.end),
        features,
    );
    cue::add(&format!("{alone}cue above"), within(line(-1)), features);
    cue::add(&format!("{alone}cue below"), within(line(1)), features);
    let before = line(-2).start.min(line(-1).start)..start;
    cue::add(&format!("{alone}cue before"), within(before), features);
    if let Some(last) = within(line(-2).start.min(own.start)..start).last() {
        features.add("cue last", &cue::letters(last.sense));
    }
    if let Some(first) = within(end..line(1).end.max(own.end)).first() {
        features.add("cue next", &cue::letters(first.sense));
    }
}

fn of_shape(candidate: &Candidate, reading: &Reading, features: &mut Features) {
    let at = candidate.range.start;
    let length = candidate.compact.len().min(12);
    let shape = format!("{:?} {length}", candidate.shape);
    let alone = if candidate.alone { "alone" } else { "within" };
    let emphasis = if reading.is_emphasised(at) {
        "large"
    } else {
        "plain"
    };
    features.add("shape", &shape);
    features.add("layout", &format!("{alone} {emphasis}"));
    features.add("shape layout", &format!("{shape} {alone} {emphasis}"));
    features.add("source", &format!("{:?}", reading.source));
    features.add("source layout", &format!("{:?} {alone}", reading.source));
    let digits = candidate.compact.as_bytes();
    let flags = [
        (reading.is_marked(at), "marked"),
        (candidate.numbered, "numbered"),
        (candidate.heading.is_some(), "headed"),
        (is_year(&candidate.compact), "year"),
        (is_compact_date(&candidate.compact), "date"),
        (digits.first() == Some(&b'0'), "zero"),
        (
            digits
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a == b)),
            "same",
        ),
        (digits.ends_with(b"00"), "round"),
    ];
    for (_, flag) in flags.iter().filter(|(holds, _)| *holds) {
        features.add("flag", flag);
    }
}

fn of_rules(candidate: &Candidate, rules: &[Rule], features: &mut Features) {
    let score: i32 = rules.iter().map(|rule| rule.points()).sum();
    for rule in rules {
        features.add("rule", rule.as_str());
    }
    let best = rules.iter().max_by_key(|rule| rule.points());
    let best = best.map_or("none", |rule| rule.as_str());
    features.add("best", &format!("{best} {:?}", candidate.shape));
    features.add("points", &(score.div_euclid(10).clamp(-8, 15)).to_string());
}

/// The words before and after, nearest ones apart, and those of the lines around.
fn of_words(candidate: &Candidate, around: Context<'_>, features: &mut Features) {
    let text = around.text;
    let line = around.segments.get(candidate.segment);
    let (start, end) = line.map_or((0, text.len()), |line| (line.range.start, line.range.end));
    let from = text.ceil_char_boundary(start.max(candidate.range.start.saturating_sub(REACH)));
    let left = text.get(from..candidate.range.start).unwrap_or_default();
    let until = text.floor_char_boundary(end.min(candidate.range.end + REACH));
    let right = text.get(candidate.range.end..until).unwrap_or_default();
    let sign = |c: Option<char>| match c {
        None => "edge".to_owned(),
        Some(c) if c.is_alphanumeric() => "letter".to_owned(),
        Some(c) => c.to_string(),
    };
    let before = left.trim_end_matches(' ').chars().next_back();
    let after = right.trim_start_matches(' ').chars().next();
    features.add("sign before", &sign(before));
    features.add("sign after", &sign(after));
    let left_words: Vec<&str> = words(left).collect();
    let right_words: Vec<&str> = words(right).collect();
    let near_left = left_words.get(left_words.len().saturating_sub(2)..);
    features.add_words("left next", near_left.unwrap_or_default(), Detail::Pieces);
    features.add_words("left", &left_words, Detail::Pieces);
    let near_right = right_words.get(..right_words.len().min(2));
    features.add_words("right next", near_right.unwrap_or_default(), Detail::Pieces);
    features.add_words("right", &right_words, Detail::Pieces);
    for (offset, kind) in [(-1_isize, "above"), (-2, "above 2"), (1, "below")] {
        let index = candidate.segment.checked_add_signed(offset);
        let Some(line) = index.and_then(|index| around.segments.get(index)) else {
            features.add(kind, "edge");
            continue;
        };
        let range = if offset < 0 {
            text.ceil_char_boundary(line.range.start.max(line.range.end.saturating_sub(REACH)))
                ..line.range.end
        } else {
            line.range.start..text.floor_char_boundary(line.range.end.min(line.range.start + REACH))
        };
        let near: Vec<&str> = words(text.get(range).unwrap_or_default()).collect();
        let kind = if candidate.alone {
            kind.to_owned()
        } else {
            format!("{kind} of line")
        };
        features.add_words(&kind, &near, Detail::Pieces);
    }
}
