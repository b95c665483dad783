//! What the terms around a candidate say.

use super::around::Around;
use crate::lexicon::Sense;

/// The senses that are features by themselves.
pub(super) const SENSES: &[(Sense, &str)] = &[
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

/// What the terms around a candidate say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    /// In its sentence.
    pub(super) sentence: Sense,
    /// In the lines around, but not in its sentence.
    pub(super) near: Sense,
}

impl Heard {
    pub(super) fn of(around: &Around<'_>) -> Self {
        let mut heard = Self::default();
        for (sense, _) in SENSES {
            if around.says_in_sentence(*sense) {
                heard.sentence = heard.sentence.or(*sense);
            } else if around.says(*sense) {
                heard.near = heard.near.or(*sense);
            }
        }
        heard
    }
}
