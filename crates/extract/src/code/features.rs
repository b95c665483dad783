//! What the model sees of a candidate: its shape, its place, the rules that hold for it,
//! and the words around it.

use super::candidate::Candidate;
use super::concepts;
use super::context::{Context, MailContext};
use super::heard::SENSES;
use super::layout;
use super::rule::Rule;
use super::score::ScoredCode;
use super::spread::Spread;
use super::stream::{Item, items};
use super::token_link::has_token_link;
use super::twins::{Said, Twins};
use crate::cue;
use crate::lexicon::Hit;
use crate::model::{Collector, Detail, Features, Kind, words};
use crate::reading::TextSource;

/// How many bytes of text on each side are looked at.
const REACH: usize = 90;
/// How many words of the mail are features of all its candidates.
const MAIL_WORDS: usize = 400;
/// Steps charged for a byte of the text in which items are found.
const PER_BYTE: usize = 4;

/// What the words of a reading mean.
pub(super) struct Meanings<'r> {
    pub(super) cues: &'r [Hit],
    items: Vec<Item>,
}

impl<'r> Meanings<'r> {
    pub(super) fn in_text(context: &Context<'r>) -> Self {
        let (concepts, text) = (context.concepts(), context.reading.examined());
        context.steps.charge(PER_BYTE * text.len());
        Self {
            cues: &concepts.cues,
            items: items(text, &concepts.hits),
        }
    }
}

/// The features that all candidates of a mail share. `meanings` is what the words of each
/// reading mean.
pub(super) fn of_mail(
    contexts: &[Context<'_>],
    mail: MailContext,
    meanings: &[Meanings<'_>],
    features: &mut Collector,
) -> Features {
    features.add_kind(const { Kind::of("bias") });
    for (context, meant) in contexts.iter().zip(meanings) {
        let cues = meant.cues;
        let kind = Kind::of(if context.reading.source == TextSource::Subject {
            "cue subject"
        } else {
            "cue mail"
        });
        cue::add(kind, cues, features);
        cue::add_counts(kind, cues, features);
    }
    let mut texts = contexts.iter();
    if texts.any(|context| has_token_link(context.reading, context.steps)) {
        features.add_kind(const { Kind::of("mail") }.then("token link"));
    }
    let senses = mail.body.or(mail.subject);
    for (sense, name) in SENSES {
        if senses.says(*sense) {
            features.add_kind(const { Kind::of("mail says") }.then(name));
        }
        if mail.subject.says(*sense) {
            features.add_kind(const { Kind::of("subject says") }.then(name));
        }
    }
    features.end_part();
    // Text and HTML mostly say the same, so one of them is enough.
    let longest = contexts.iter().map(|context| context.text().len()).max();
    let is_read = |context: &Context<'_>| {
        let is_subject = context.reading.source == TextSource::Subject;
        is_subject || Some(context.text().len()) == longest
    };
    let read = || {
        contexts
            .iter()
            .zip(meanings)
            .filter(|(context, _)| is_read(context))
    };
    for (context, meant) in read() {
        let kind = Kind::of(if context.reading.source == TextSource::Subject {
            "concept subject"
        } else {
            "concept mail"
        });
        concepts::of_text(kind, &meant.items, features);
    }
    features.end_part();
    for (context, _) in read() {
        let text = context.reading.small();
        if context.reading.source == TextSource::Subject {
            let all = words(text).take(30);
            features.add_words(const { Kind::of("subject") }, all, Detail::Pieces);
        } else {
            let all = words(text).take(MAIL_WORDS);
            features.add_words(const { Kind::of("mail") }, all, Detail::Words);
        }
    }
    features.take()
}

/// The features of one candidate.
pub(super) fn of_candidate<'m>(
    one: &ScoredCode,
    context: &Context<'m>,
    (spread, meant): (&Spread, &'m Meanings<'m>),
    (twins, features): (&mut Twins<'m>, &mut Collector),
) -> Features {
    let candidate = &one.candidate;
    let said = Said {
        items: concepts::near(&candidate.range, &meant.items),
        words: words_around(candidate, context),
    };
    of_cues(candidate, context, meant.cues, features);
    features.end_part();
    if !twins.add_items(&said, features) {
        concepts::of_candidate(said.items, features);
    }
    features.end_part();
    layout::add(candidate, context.reading, features);
    features.end_part();
    of_rules(candidate, &one.rules, features);
    for (sense, name) in SENSES {
        if one.heard.sentence.says(*sense) {
            features.add_kind(const { Kind::of("sentence says") }.then(name));
        } else if one.heard.near.says(*sense) {
            features.add_kind(const { Kind::of("near says") }.then(name));
        }
    }
    features.end_part();
    spread.add(candidate, features);
    features.end_part();
    if twins.add_words(&said, features) {
        return features.take();
    }
    of_words(said.words, features);
    let features = features.take();
    twins.keep(said, &features);
    features
}

/// The cues before and after a candidate in its line, and in the lines around it.
fn of_cues(candidate: &Candidate, context: &Context<'_>, cues: &[Hit], features: &mut Collector) {
    const NEAR: usize = 30;
    let line = |offset: isize| {
        let index = candidate.segment.checked_add_signed(offset);
        let line = index.and_then(|index| context.segments.get(index));
        line.map_or(0..0, |line| line.range.clone())
    };
    let own = line(0);
    let (start, end) = (candidate.range.start, candidate.range.end);
    let left = own.start.max(start.saturating_sub(2 * REACH))..start;
    let right = end..own.end.min(end + 2 * REACH);
    let [line_kind, above_kind, below_kind, before_kind, all_kind] = if candidate.alone {
        const { cue_kinds("alone ") }
    } else {
        const { cue_kinds("") }
    };
    let within = |range: std::ops::Range<usize>| {
        let from = cues.partition_point(|hit| hit.start() < range.start);
        let until = cues.partition_point(|hit| hit.start() < range.end);
        cues.get(from..until).unwrap_or_default()
    };
    let near_left = start.saturating_sub(NEAR).max(own.start)..start;
    let near_right = end..own.end.min(end + NEAR);
    let before = line(-2).start.min(line(-1).start)..start;
    for (kind, range) in [
        (const { Kind::of("cue left near") }, near_left),
        (const { Kind::of("cue right near") }, near_right),
        (const { Kind::of("cue left") }, left.clone()),
        (const { Kind::of("cue right") }, right.clone()),
        (line_kind, left.start..right.end),
        (above_kind, line(-1)),
        (below_kind, line(1)),
        (before_kind, before),
    ] {
        cue::add(kind, within(range), features);
    }
    let earlier = within(line(-2).start.min(own.start)..start);
    let later = within(end..line(1).end.max(own.end));
    if let Some(last) = earlier.last() {
        cue::add_together(const { Kind::of("cue last") }, last.sense, features);
    }
    if let Some(first) = later.first() {
        cue::add_together(const { Kind::of("cue next") }, first.sense, features);
    }
    let before = earlier.get(earlier.len().saturating_sub(3)..);
    let after = later.get(..later.len().min(2));
    cue::add_path(
        before.unwrap_or_default(),
        after.unwrap_or_default(),
        features,
    );
    let all = Hit::senses(cues);
    let length = i32::try_from(candidate.compact.len()).map_or(9, |length| length.min(9));
    cue::add_together(all_kind.then_number(length).then(" "), all, features);
}

/// The kinds of cues that say whether a candidate has a line of its own.
const fn cue_kinds(alone: &str) -> [Kind; 5] {
    [
        Kind::of_two(alone, "cue line"),
        Kind::of_two(alone, "cue above"),
        Kind::of_two(alone, "cue below"),
        Kind::of_two(alone, "cue before"),
        Kind::of_two(alone, "cue all of"),
    ]
}

fn of_rules(candidate: &Candidate, rules: &[Rule], features: &mut Collector) {
    let score: i32 = rules.iter().map(|rule| rule.points()).sum();
    for rule in rules {
        features.add_kind(const { Kind::of("rule") }.then(rule.as_str()));
    }
    let best = rules.iter().max_by_key(|rule| rule.points());
    let best = best.map_or("none", |rule| rule.as_str());
    let shape = candidate.shape.name();
    features.add_kind(const { Kind::of("best") }.then(best).then(" ").then(shape));
    let tens = score.div_euclid(10).clamp(-8, 15);
    features.add_kind(const { Kind::of("points") }.then_number(tens));
}

/// The text before and after a candidate in its line, in small letters.
fn words_around<'r>(candidate: &Candidate, context: &Context<'r>) -> (&'r str, &'r str) {
    let text = context.reading.small();
    let line = context.segments.get(candidate.segment);
    let (start, end) = line.map_or((0, text.len()), |line| (line.range.start, line.range.end));
    let from = text.ceil_char_boundary(start.max(candidate.range.start.saturating_sub(REACH)));
    let left = text.get(from..candidate.range.start).unwrap_or_default();
    let until = text.floor_char_boundary(end.min(candidate.range.end + REACH));
    let right = text.get(candidate.range.end..until).unwrap_or_default();
    (left, right)
}

/// The words before and after, nearest ones apart.
fn of_words((left, right): (&str, &str), features: &mut Collector) {
    let before = left.trim_end_matches(' ').chars().next_back();
    let after = right.trim_start_matches(' ').chars().next();
    add_sign(const { Kind::of("sign before") }, before, features);
    add_sign(const { Kind::of("sign after") }, after, features);
    let mut near_left = [""; 2];
    let noted = words(left).inspect(|word| near_left = [near_left[1], word]);
    features.add_words(const { Kind::of("left") }, noted, Detail::Pieces);
    let [second, last] = near_left.map(sayable);
    let mut next = words(right).map(sayable);
    let (first, then) = (next.next().unwrap_or(""), next.next().unwrap_or(""));
    for (kind, one, other) in [
        (const { Kind::of("left pair") }, second, last),
        (const { Kind::of("right pair") }, first, then),
        (const { Kind::of("between") }, last, first),
    ] {
        features.add_kind(kind.then(one).then(" ").then(other));
    }
    let near_left = near_left.into_iter().filter(|word| !word.is_empty());
    features.add_words(const { Kind::of("left next") }, near_left, Detail::Pieces);
    let near_right = words(right).take(2);
    features.add_words(const { Kind::of("right next") }, near_right, Detail::Pieces);
    features.add_words(const { Kind::of("right") }, words(right), Detail::Pieces);
}

/// A word, or a sign for a number: a model must not remember numbers.
fn sayable(word: &str) -> &str {
    if word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty() {
        "#"
    } else {
        word
    }
}

/// The character beside a candidate.
fn add_sign(kind: Kind, sign: Option<char>, features: &mut Collector) {
    match sign {
        None => features.add_kind(kind.then("edge")),
        Some(sign) if sign.is_alphanumeric() => features.add_kind(kind.then("letter")),
        Some(sign) => features.add_kind(kind.then(sign.encode_utf8(&mut [0; 4]))),
    }
}
