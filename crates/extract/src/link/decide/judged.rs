//! Whether a judged link is good enough, and how it is described.

use super::{ConsideredLink, JudgedLink};
use crate::extraction::LinkKind;
use crate::link::classify::LinkRule;
use crate::model::{UNIT, percent};

/// The log odds that a link needs if the rules support it, and if they do not.
const THRESHOLD: i32 = -UNIT;
const UNSUPPORTED: i32 = UNIT;
/// The log odds that a link to sign in needs if it has no token: it cannot sign anyone in.
const TOKENLESS: i32 = 2 * UNIT;
/// The points with which the rules support a link.
const SUPPORT: i32 = 60;
impl JudgedLink<'_, '_> {
    /// Joins a second link to the same target. The target counts as protected if
    /// one of them is; otherwise the better one counts, with points for repetition.
    pub(super) fn merge(&mut self, other: Self) {
        if self.classified.is_protected() {
            return;
        }
        if other.classified.is_protected() || other.score > self.score {
            *self = other;
        }
        self.is_repeated = !self.classified.is_protected();
    }

    /// Good enough to act on, and nothing that must not be followed.
    pub(super) fn is_action(&self) -> bool {
        let has_token = !self.classified.rules.contains(&LinkRule::NoToken);
        let needed = if self.classified.kind == LinkKind::MagicLogin && !has_token {
            TOKENLESS
        } else if self.is_supported() {
            THRESHOLD
        } else {
            UNSUPPORTED
        };
        self.score >= needed
            && !self.classified.is_protected()
            && !self.classified.kind.is_protected()
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
