//! The evidence for a candidate.

use super::against::against;
use super::around::{Around, Near};
use super::candidate::Candidate;
use super::context::MailContext;
use super::rule::Rule;
use super::shape::Shape;
use crate::lexicon::{Hit, Sense};
use crate::reading::Reading;

/// The rules that hold for a candidate.
pub(super) fn evidence(
    candidate: &Candidate,
    reading: &Reading,
    around: &Around<'_>,
    mail: MailContext,
) -> Vec<Rule> {
    let mut rules = Vec::new();
    let shown = structural_rule(candidate, reading, mail);
    let label = labels(candidate, around, mail, shown, &mut rules);
    against(candidate, around, mail, label, &mut rules);
    if candidate.shape.is_wordlike() && !is_labelled_word(candidate, around) {
        rules.push(Rule::PlainWord);
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
    if reading.is_emphasised(candidate.range.start) {
        rules.push(Rule::Emphasis);
    }
    rules.extend(shape_rule(candidate));
    rules
}

/// Whether a label marks a word as a code. Small letters need a colon as well, or a
/// line of their own.
fn is_labelled_word(candidate: &Candidate, around: &Around<'_>) -> bool {
    let Some(near) = around.before(Sense::CODE.or(Sense::WORD)) else {
        return false;
    };
    let strong = near.hit.sense.says(Sense::CODE);
    let direct = near.words == 0 && near.stops == 0 && near.lines == 0;
    let alone = candidate.alone && near.lines > 0 && near.stops == 0 && near.words <= 6;
    if candidate.known || !(direct || alone) {
        return false;
    }
    let colon = near.gap.has(':') || near.gap.has('=');
    let ends = around
        .text
        .get(candidate.range.end..)
        .is_none_or(|rest| !rest.starts_with(' '));
    let label = around.text.get(near.hit.range()).unwrap_or_default();
    let shouted = label.bytes().all(|byte| !byte.is_ascii_lowercase()) && label.is_ascii();
    match candidate.shape {
        Shape::Letters => {
            alone || direct && (ends && (strong && near.linked || !shouted) || strong && colon)
        }
        _ => alone && colon || direct && strong && colon,
    }
}

fn shape_rule(candidate: &Candidate) -> Option<Rule> {
    match (candidate.shape, candidate.compact.len()) {
        (Shape::Digits, 6) | (Shape::Grouped | Shape::Prefixed, 6..=9) => Some(Rule::LikelyShape),
        (Shape::Letters | Shape::SmallLetters | Shape::MixedCase | Shape::Words, _)
        | (Shape::Digits, 9..)
        | (Shape::Dashed, 12..) => Some(Rule::UnlikelyShape),
        (Shape::Mixed, _) if is_chosen(&candidate.compact) => Some(Rule::UnlikelyShape),
        _ => None,
    }
}

/// `FRIEND42`: a person chose it, so it is hardly a one-time code.
fn is_chosen(compact: &str) -> bool {
    let word = compact.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = compact.len() - word.len();
    compact.len() >= 7
        && (1..=3).contains(&digits)
        && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Adds the rule of the best label. Returns how many words are between that label
/// and the candidate.
fn labels(
    candidate: &Candidate,
    around: &Around<'_>,
    mail: MailContext,
    shown: Option<Rule>,
    rules: &mut Vec<Rule>,
) -> Option<usize> {
    let any = Sense::CODE.or(Sense::WORD);
    let before = around.before(any);
    let after = around.after(any);
    let first = before.and_then(|near| before_rule(candidate, around, near));
    let second = after
        .filter(|near| !labels_the_next(around, near.hit))
        .and_then(|near| after_rule(candidate, near));
    let enter = around
        .before(Sense::ENTER)
        .filter(|near| near.words <= 2 && near.lines == 0 && near.stops == 0);
    let purpose = Sense::AUTH.or(any).or(Sense::EXPIRY);
    let imperative = enter
        .filter(|_| mail.body.or(mail.subject).says(purpose))
        .map(|_| {
            let to_sign_in = around.says_in_sentence(purpose);
            if to_sign_in {
                Rule::ImperativeToSignIn
            } else {
                Rule::Imperative
            }
        });
    let best = [
        first,
        second,
        imperative,
        shown,
        alone_rule(candidate, around, mail),
    ]
    .into_iter()
    .flatten()
    .max_by_key(|rule| rule.points());
    rules.extend(best);
    if first.is_some_and(|rule| rule.points() >= 40) && second.is_some() {
        rules.push(Rule::LabelledTwice);
    }
    if before.is_some_and(|near| is_bracketed(candidate, around, near)) {
        rules.push(Rule::Bracketed);
    }
    match (first, second) {
        (Some(a), Some(b)) if b.points() > a.points() => after.map(|near| near.words),
        (Some(_), _) => before.map(|near| near.words),
        (None, Some(_)) => after.map(|near| near.words),
        (None, None) => None,
    }
}

/// "(code X)": only the label and the candidate are in the brackets.
fn is_bracketed(candidate: &Candidate, around: &Around<'_>, near: Near<'_>) -> bool {
    let before = around.text.get(..near.hit.start());
    let after = around.text.get(candidate.range.end..);
    near.words == 0
        && near.lines == 0
        && before.is_some_and(|before| before.ends_with('('))
        && after.is_some_and(|after| after.starts_with(')'))
}

fn before_rule(candidate: &Candidate, around: &Around<'_>, near: Near<'_>) -> Option<Rule> {
    let strong = near.hit.sense.says(Sense::CODE);
    if candidate.alone && near.lines > 0 {
        let asked = near.stops == 0 && around.is_asked_for(near);
        return Some(if strong || asked {
            Rule::AloneBelowLabel
        } else {
            Rule::AloneBelowWord
        });
    }
    let distance = near.words + 4 * near.lines.min(2);
    Some(match (strong, near.stops, distance) {
        (true, 0, 0..=1) if near.linked => Rule::LabelDirect,
        (true, 0, 0..=16) if near.linked => Rule::LabelLinked,
        (true, 0, 0..=1) => Rule::LabelBare,
        (true, 0, 2..=5) => Rule::LabelNear,
        (true, 0, 6..=14) => Rule::LabelFar,
        (true, 1, 0..=12) => Rule::LabelEarlier,
        (false, 0, 0..=1) => Rule::WordDirect,
        (false, 0, 2..=9) if near.linked => Rule::WordLinked,
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
        (true, 0, 0) if near.connected => Some(Rule::LabelAfterDirect),
        (true, 0, 0..=5) => Some(Rule::LabelAfter),
        (false, 0, 0..=3) => Some(Rule::WordAfter),
        (true, 0, 6..=10) => Some(Rule::WordFar),
        _ => None,
    }
}

/// The evidence of the layout, which needs no known language.
fn structural_rule(candidate: &Candidate, reading: &Reading, mail: MailContext) -> Option<Rule> {
    let at = candidate.range.start;
    let length = candidate.compact.len();
    if !candidate.alone || candidate.shape.is_wordlike() {
        return None;
    }
    let all = mail.body.or(mail.subject);
    let unspoken = !all.says(Sense::CODE.or(Sense::WORD).or(Sense::KIND).or(Sense::MONEY));
    if reading.is_marked(at) {
        Some(Rule::AloneMarked)
    } else if candidate.shape == Shape::Prefixed
        && length == 7
        && candidate.value.find('-') == Some(1)
    {
        Some(Rule::AlonePrefixed)
    } else {
        let lone =
            unspoken && length == 6 && reading.is_emphasised(at) && reading.text().len() < 2_000;
        lone.then_some(Rule::AloneUnknown)
    }
}

/// "Your code 1234 password 5678": whether the label belongs to the value after it.
fn labels_the_next(around: &Around<'_>, label: &Hit) -> bool {
    let rest = around.text.get(label.end()..).unwrap_or_default();
    let value = rest.trim_start_matches([' ', ':', '=', '[', '(']);
    let gap = rest.len() - value.len();
    let token = value
        .split(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let is_value = token.len() >= 4
        && token
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    gap <= 3 && is_value
}

fn alone_rule(candidate: &Candidate, around: &Around<'_>, mail: MailContext) -> Option<Rule> {
    let all = mail.body.or(mail.subject);
    let purpose = around.before(Sense::AUTH.or(Sense::ENTER));
    if !candidate.alone || candidate.shape.is_wordlike() {
        None
    } else if purpose.is_some_and(|near| near.lines > 0 && near.stops == 0 && near.words <= 4) {
        Some(Rule::AloneBelowPurpose)
    } else if all.says(Sense::CODE.or(Sense::WORD)) {
        Some(Rule::AloneInCodeMail)
    } else if all.says(Sense::EXPIRY) && matches!(candidate.compact.len(), 6..=8) {
        Some(Rule::AloneWithExpiry)
    } else {
        all.says(Sense::AUTH).then_some(Rule::AloneInAuthMail)
    }
}
