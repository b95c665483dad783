//! The evidence against a candidate.

use super::around::{Around, Near};
use super::candidate::Candidate;
use super::context::MailContext;
use super::number::{is_compact_date, is_year};
use super::rule::Rule;
use super::shape::Shape;
use crate::lexicon::Sense;

/// Adds the rules that take points. `label` is how many words the best label is away.
pub(super) fn against(
    candidate: &Candidate,
    around: &Around<'_>,
    mail: MailContext,
    label: Option<usize>,
    rules: &mut Vec<Rule>,
) {
    if is_named(candidate, around, Sense::NUMBER, 1, label)
        || is_in_another_column(candidate, around)
        || is_account(candidate, around, rules)
    {
        rules.push(Rule::OtherNumber);
    }
    let meeting =
        mail.body.or(mail.subject).says(Sense::MEETING) && !mail.subject.says(Sense::CODE);
    if meeting || is_named(candidate, around, Sense::KIND, 3, label) || is_of_another_kind(around) {
        rules.push(Rule::OtherKind);
    } else if !rules.iter().any(|rule| rule.is_strong_label()) && is_about_other_codes(around, mail)
    {
        rules.push(Rule::OtherContext);
    }
    let direct = |rule: &Rule| {
        matches!(
            rule,
            Rule::LabelDirect
                | Rule::LabelBare
                | Rule::LabelAfterDirect
                | Rule::LabelAfter
                | Rule::WordDirect
        )
    };
    if !rules.iter().any(direct)
        && (is_year(&candidate.compact) || is_compact_date(&candidate.compact))
    {
        rules.push(Rule::YearOrDate);
    }
    if candidate.numbered {
        rules.push(Rule::Numbered);
    }
    if around.says_in_sentence(Sense::STALE) {
        rules.push(Rule::Stale);
    }
    if mail.subject.says(Sense::KIND) && !mail.subject.says(Sense::CODE.or(Sense::WORD)) {
        rules.push(Rule::CommercialMail);
    }
}

fn is_about_other_codes(around: &Around<'_>, mail: MailContext) -> bool {
    let proper = mail.body.or(mail.subject).says(Sense::CODE.or(Sense::AUTH));
    around.says_in_sentence(Sense::KIND) || !proper && around.says(Sense::KIND)
}

/// "Discount code: X": whether the word before the label names another kind of code.
fn is_of_another_kind(around: &Around<'_>) -> bool {
    let label = around
        .before(Sense::CODE.or(Sense::WORD))
        .filter(|near| near.stops == 0 && near.lines == 0);
    label.is_some_and(|label| around.follows(label.hit, Sense::KIND))
}

/// Whether the heading of its column names something else.
fn is_in_another_column(candidate: &Candidate, around: &Around<'_>) -> bool {
    candidate.heading.is_some() && around.before(Sense::CODE.or(Sense::WORD)).is_none()
}

/// "The password for your account 10048213 was changed": whether it is an account.
fn is_account(candidate: &Candidate, around: &Around<'_>, rules: &[Rule]) -> bool {
    candidate.shape == Shape::Digits
        && candidate.compact.len() > 6
        && !rules.iter().any(|rule| rule.is_strong_label())
        && around
            .before(Sense::AUTH)
            .is_some_and(|near| near.gap.is_blank())
}

/// Whether a term of the sense names the candidate: it is directly before the
/// candidate, or after it with a connecting word, and closer than any label.
fn is_named(
    candidate: &Candidate,
    around: &Around<'_>,
    sense: Sense,
    reach: usize,
    label: Option<usize>,
) -> bool {
    let beats = |near: Near<'_>| {
        let reachable = near.lines == 0 || candidate.alone && near.lines <= 1;
        near.stops == 0
            && reachable
            && near.words <= reach
            && label.is_none_or(|words| near.words < words || words > 3)
    };
    let before = around
        .before(sense)
        .filter(|near| !near.gap.has_digits() && !near.gap.has(')'))
        .filter(|near| sense != Sense::NUMBER || near.lines == 0 || !around.is_asked_for(*near));
    let label_follows = |near: Near<'_>| {
        let from = near.hit.end();
        let next = around.next(from, Sense::CODE.or(Sense::WORD));
        next.is_some_and(|next| next.start() <= from + 2)
    };
    let after = around.after(sense).filter(|near| {
        near.connected
            && near.lines == 0
            && !near.gap.has_digits()
            && !near.gap.has('(')
            && !label_follows(*near)
    });
    before.is_some_and(beats) || after.is_some_and(beats)
}
