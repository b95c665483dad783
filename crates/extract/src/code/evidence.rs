//! Evidence for and against a candidate, in points from one table.

use super::candidate::Candidate;
use super::context::{Context, Near};
use super::number::{is_compact_date, is_year};
use super::shape::Shape;
use crate::lexicon::Sense;
use crate::reading::Reading;

/// A piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// "verification code: X".
    LabelDirect,
    /// "the verification code for your account is X".
    LabelNear,
    /// The label stands further back in the sentence.
    LabelFar,
    /// The label stands in the sentence before.
    LabelEarlier,
    /// "code: X".
    WordDirect,
    /// "code for your account: X".
    WordNear,
    /// The word stands further back in the sentence.
    WordFar,
    /// The word stands in the sentence before.
    WordEarlier,
    /// "X is your verification code".
    LabelAfter,
    /// "X is your code".
    WordAfter,
    /// Alone on its line, a label in the lines above.
    AloneBelowLabel,
    /// Alone on its line, "code" in the lines above.
    AloneBelowWord,
    /// Alone on its line, the label in the line below.
    AloneAboveLabel,
    /// Alone on its line in a mail that speaks of a code.
    AloneInCodeMail,
    /// Alone on its line in a mail about signing in.
    AloneInAuthMail,
    /// "enter X to sign in".
    Imperative,
    /// Two labels, one before and one after.
    LabelledTwice,
    /// The subject speaks of a code.
    SubjectLabel,
    /// The mail says how long something is valid.
    Expiry,
    /// The mail is about signing in or confirming.
    AuthMail,
    /// Set larger or wider than the text.
    Emphasis,
    /// The same value in another part of the mail.
    Agreement,
    /// A length or shape that codes often have.
    LikelyShape,
    /// A shape that codes rarely have.
    UnlikelyShape,
    /// Another kind of number is named closer by.
    OtherNumber,
    /// A code of another kind is named.
    OtherKind,
    /// It reads as a year or a date.
    YearOrDate,
    /// A number sign stands before it.
    Numbered,
    /// It is called old or used.
    Stale,
    /// An order, an offer, a newsletter.
    CommercialMail,
}

/// Every rule, its word and its points.
const TABLE: &[(Rule, &str, i32)] = &[
    (Rule::LabelDirect, "label_direct", 72),
    (Rule::LabelNear, "label_near", 62),
    (Rule::LabelFar, "label_far", 48),
    (Rule::LabelEarlier, "label_earlier", 35),
    (Rule::WordDirect, "word_direct", 56),
    (Rule::WordNear, "word_near", 40),
    (Rule::WordFar, "word_far", 25),
    (Rule::WordEarlier, "word_earlier", 15),
    (Rule::LabelAfter, "label_after", 62),
    (Rule::WordAfter, "word_after", 50),
    (Rule::AloneBelowLabel, "alone_below_label", 60),
    (Rule::AloneBelowWord, "alone_below_word", 48),
    (Rule::AloneAboveLabel, "alone_above_label", 45),
    (Rule::AloneInCodeMail, "alone_in_code_mail", 40),
    (Rule::AloneInAuthMail, "alone_in_auth_mail", 25),
    (Rule::Imperative, "imperative", 30),
    (Rule::LabelledTwice, "labelled_twice", 10),
    (Rule::SubjectLabel, "subject_label", 10),
    (Rule::Expiry, "expiry", 8),
    (Rule::AuthMail, "auth_mail", 7),
    (Rule::Emphasis, "emphasis", 5),
    (Rule::Agreement, "agreement", 12),
    (Rule::LikelyShape, "likely_shape", 12),
    (Rule::UnlikelyShape, "unlikely_shape", -20),
    (Rule::OtherNumber, "other_number", -70),
    (Rule::OtherKind, "other_kind", -75),
    (Rule::YearOrDate, "year_or_date", -45),
    (Rule::Numbered, "numbered", -25),
    (Rule::Stale, "stale", -40),
    (Rule::CommercialMail, "commercial_mail", -25),
];

impl Rule {
    fn row(self) -> Option<&'static (Self, &'static str, i32)> {
        TABLE.iter().find(|(rule, _, _)| *rule == self)
    }

    /// The points it gives or takes.
    pub fn points(self) -> i32 {
        self.row().map_or(0, |(_, _, points)| *points)
    }

    /// The stable word for tables and explanations.
    pub fn as_str(self) -> &'static str {
        self.row().map_or("none", |(_, word, _)| word)
    }
}

/// What is known about the mail as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MailContext {
    pub(super) subject: Sense,
    pub(super) body: Sense,
}

/// The rules that hold for a candidate.
pub(super) fn evidence(candidate: &Candidate, reading: &Reading, around: Context<'_>, mail: MailContext) -> Vec<Rule> {
    let mut rules = Vec::new();
    let label = labels(candidate, around, mail, &mut rules);
    against(candidate, around, mail, label, &mut rules);
    if candidate.shape.is_wordlike() && !rules.iter().any(|rule| labels_words(*rule)) {
        return Vec::new();
    }
    if mail.subject.says(Sense::CODE.or(Sense::WORD)) {
        rules.push(Rule::SubjectLabel);
    }
    if mail.body.says(Sense::EXPIRY) {
        rules.push(Rule::Expiry);
    }
    if mail.body.or(mail.subject).says(Sense::AUTH.or(Sense::CODE)) {
        rules.push(Rule::AuthMail);
    }
    if reading.emphasis.iter().any(|range| range.start <= candidate.range.start && candidate.range.start < range.end) {
        rules.push(Rule::Emphasis);
    }
    rules.extend(shape_rule(candidate));
    rules
}

/// Words look like codes; only a label right beside them tells.
fn labels_words(rule: Rule) -> bool {
    matches!(rule, Rule::LabelDirect | Rule::AloneBelowLabel | Rule::AloneBelowWord)
}

fn shape_rule(candidate: &Candidate) -> Option<Rule> {
    match (candidate.shape, candidate.compact.len()) {
        (Shape::Digits, 6) | (Shape::Grouped | Shape::Prefixed, 6 | 8 | 9) => Some(Rule::LikelyShape),
        (Shape::Digits, 4 | 8) => None,
        (Shape::Mixed, 6 | 8) => None,
        (Shape::Letters | Shape::SmallLetters | Shape::MixedCase | Shape::Words, _) | (Shape::Digits, 9..) => {
            Some(Rule::UnlikelyShape)
        }
        _ => None,
    }
}

/// The best label, as one rule; returns how many words stand between.
fn labels(candidate: &Candidate, around: Context<'_>, mail: MailContext, rules: &mut Vec<Rule>) -> Option<usize> {
    let any = Sense::CODE.or(Sense::WORD);
    let before = around.before(candidate, any);
    let after = around.after(candidate, any);
    let first = before.and_then(|near| before_rule(candidate, near));
    let second = after.and_then(|near| after_rule(candidate, near));
    let enter = around.before(candidate, Sense::ENTER).filter(|near| near.words <= 2 && near.lines == 0 && near.stops == 0);
    let imperative = enter.filter(|_| mail.body.or(mail.subject).says(Sense::AUTH.or(any))).map(|_| Rule::Imperative);
    let best = [first, second, imperative, alone_rule(candidate, mail)].into_iter().flatten().max_by_key(|rule| rule.points());
    rules.extend(best);
    if first.is_some_and(|rule| rule.points() >= 40) && second.is_some() {
        rules.push(Rule::LabelledTwice);
    }
    match (first, second) {
        (Some(a), Some(b)) if b.points() > a.points() => after.map(|near| near.words),
        (Some(_), _) => before.map(|near| near.words),
        (None, Some(_)) => after.map(|near| near.words),
        (None, None) => None,
    }
}

fn before_rule(candidate: &Candidate, near: Near<'_>) -> Option<Rule> {
    let strong = near.hit.sense.says(Sense::CODE);
    if candidate.alone && near.lines > 0 {
        return Some(if strong { Rule::AloneBelowLabel } else { Rule::AloneBelowWord });
    }
    let distance = near.words + 4 * near.lines.min(2);
    Some(match (strong, near.stops, distance) {
        (true, 0, 0..=1) => Rule::LabelDirect,
        (true, 0, 2..=5) => Rule::LabelNear,
        (true, 0, 6..=14) => Rule::LabelFar,
        (true, 1, 0..=12) => Rule::LabelEarlier,
        (false, 0, 0..=1) => Rule::WordDirect,
        (false, 0, 2..=4) => Rule::WordNear,
        (false, 0, 5..=9) => Rule::WordFar,
        (false, 1, 0..=6) => Rule::WordEarlier,
        _ => return None,
    })
}

fn after_rule(candidate: &Candidate, near: Near<'_>) -> Option<Rule> {
    let strong = near.hit.sense.says(Sense::CODE);
    if near.lines > 0 {
        return (candidate.alone && near.words <= 4).then_some(Rule::AloneAboveLabel);
    }
    match (strong, near.stops, near.words) {
        (true, 0, 0..=5) => Some(Rule::LabelAfter),
        (false, 0, 0..=3) => Some(Rule::WordAfter),
        (true, 0, 6..=10) => Some(Rule::WordFar),
        _ => None,
    }
}

fn alone_rule(candidate: &Candidate, mail: MailContext) -> Option<Rule> {
    let all = mail.body.or(mail.subject);
    if !candidate.alone || candidate.shape.is_wordlike() {
        None
    } else if all.says(Sense::CODE.or(Sense::WORD)) {
        Some(Rule::AloneInCodeMail)
    } else {
        all.says(Sense::AUTH).then_some(Rule::AloneInAuthMail)
    }
}

fn against(candidate: &Candidate, around: Context<'_>, mail: MailContext, label: Option<usize>, rules: &mut Vec<Rule>) {
    let closer = |near: Option<Near<'_>>, limit: usize| {
        near.is_some_and(|near| {
            let within = near.stops == 0 && near.words <= limit && (near.lines == 0 || candidate.alone && near.lines <= 1);
            within && label.is_none_or(|words| near.words < words)
        })
    };
    if closer(around.before(candidate, Sense::NUMBER), 3) || closer(around.after(candidate, Sense::NUMBER), 2) {
        rules.push(Rule::OtherNumber);
    }
    if closer(around.before(candidate, Sense::KIND), 6) || closer(around.after(candidate, Sense::KIND), 4) {
        rules.push(Rule::OtherKind);
    }
    let direct = rules.iter().any(|rule| matches!(rule, Rule::LabelDirect | Rule::LabelAfter));
    if !direct && (is_year(&candidate.compact) || is_compact_date(&candidate.compact)) {
        rules.push(Rule::YearOrDate);
    }
    if candidate.numbered {
        rules.push(Rule::Numbered);
    }
    if around.in_sentence(candidate, Sense::STALE) {
        rules.push(Rule::Stale);
    }
    if mail.subject.says(Sense::KIND) && !mail.subject.says(Sense::CODE) {
        rules.push(Rule::CommercialMail);
    }
}
