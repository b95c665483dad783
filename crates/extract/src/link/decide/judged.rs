//! Whether a judged link is good enough, and how it is described.

use super::candidate::LinkCandidate;
use super::{ConsideredLink, JudgedLink};
use crate::allowlist::Allowlist;
use crate::extraction::LinkKind;
use crate::link::facts::NUMBER;
use crate::link::rule::LinkRule;
use crate::link::token::{has_brief_token, has_mixed_piece, is_for_everybody};
use crate::model::{UNIT, percent};
use crate::rejection::Rejection;

/// The log odds that a link needs if the rules support it, and if they do not.
const THRESHOLD: i32 = 0;
const UNSUPPORTED: i32 = UNIT;
/// The log odds of 95 %.
pub(super) const SURE: i32 = 3 * UNIT;
/// The points with which the rules support a link.
const SUPPORT: i32 = 60;
/// A shorter piece with a digit is no token.
const SHORTEST: i32 = 5;

impl<'m, 'l> JudgedLink<'m, 'l> {
    /// A link as an allowlist sees it.
    pub(super) fn of(link: &'m LinkCandidate, allowed: &'l Allowlist) -> Self {
        let admitted = match &link.checked {
            Ok(checked) => checked.admit(allowed),
            Err(rejection) => Err(*rejection),
        };
        let classified = match (&admitted, &link.as_target) {
            (Ok(_), Some(target)) => target,
            _ => &link.as_written,
        };
        Self {
            link,
            classified,
            rule: admitted.and_then(|rule| {
                let mismatch = link.shows_other_host;
                (!mismatch)
                    .then_some(rule)
                    .ok_or(Rejection::TextHostMismatch)
            }),
            is_repeated: false,
            is_in_both: false,
            has_ambiguous_label: link.has_ambiguous_label,
            score: link.odds,
        }
    }

    /// Joins a second link to the same target. The target counts as protected if one of
    /// them is; otherwise the one that the model prefers counts.
    pub(super) fn merge(&mut self, other: Self) {
        if self.classified.is_protected() {
            return;
        }
        let is_ambiguous = self.has_ambiguous_label || other.has_ambiguous_label;
        let is_in_both = self.is_in_both || self.link.source != other.link.source;
        if other.classified.is_protected() || other.link.rated > self.link.rated {
            *self = other;
        }
        self.has_ambiguous_label = is_ambiguous;
        self.is_in_both = is_in_both;
        self.is_repeated = !self.classified.is_protected();
    }

    /// Good enough to act on, and nothing that must not be followed.
    pub(super) fn is_action(&self) -> bool {
        let needed = if self.is_supported() {
            THRESHOLD
        } else {
            UNSUPPORTED
        };
        self.score >= needed
            && !self.classified.is_protected()
            && !self.classified.kind.is_protected()
            && !self.leads_to_a_form()
            && !self.is_page()
    }

    /// A link to sign in that seems to be the same for everybody: it cannot sign anyone in.
    fn leads_to_a_form(&self) -> bool {
        let has_token = !self.classified.rules.contains(&LinkRule::NoToken);
        let number = self.link.facts.get(NUMBER);
        let has_number = number.is_some_and(|length| *length >= SHORTEST);
        let has_brief_token = || {
            let checked = self.link.checked.as_ref();
            checked.is_ok_and(|checked| {
                let is_sure = self.score >= SURE;
                has_brief_token(&checked.url) || is_sure && has_mixed_piece(&checked.url)
            })
        };
        self.classified.kind == LinkKind::MagicLogin
            && !has_token
            && !has_number
            && !has_brief_token()
    }

    /// A page that is the same for everybody, and either begins the reset of a password or is no
    /// action by its words: `/reset/`, `/wiki/Main_Page`.
    fn is_page(&self) -> bool {
        let is_reset = self.classified.kind == LinkKind::PasswordReset;
        let checked = self.link.checked.as_ref();
        (is_reset || !self.is_supported())
            && self.classified.rules.contains(&LinkRule::NoToken)
            && checked.is_ok_and(|checked| is_for_everybody(&checked.url))
    }

    /// Whether the rules support it. A refused link that only they support is a reason to
    /// give, and nothing to act on.
    pub(super) fn is_supported(&self) -> bool {
        let kind = self.classified.kind;
        let has_name = kind != LinkKind::Unnamed && !kind.is_protected();
        has_name && self.classified.score() >= SUPPORT
    }

    pub(super) fn considered(&self) -> ConsideredLink {
        let repeated = self.is_repeated.then_some(LinkRule::Repeated);
        let rules = self.classified.rules.iter().copied().chain(repeated);
        let admitted = self
            .link
            .checked
            .as_ref()
            .ok()
            .filter(|_| self.rule.is_ok());
        ConsideredLink {
            source: self.link.source,
            at: self.link.at,
            host: admitted.map(|checked| checked.host.clone()),
            kind: self.classified.kind,
            score: i32::from(percent(self.score)),
            rules: rules.map(|rule| (rule, rule.points())).collect(),
            rejected: self.rule.err(),
        }
    }
}
