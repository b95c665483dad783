//! The evidence about a link, and its points.

/// A piece of evidence about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkRule {
    /// Its label names the action.
    Label,
    /// Its address names the action.
    Address,
    /// Its sentence asks to click it for the action.
    Call,
    /// Its sentence names the action.
    Sentence,
    /// The lines above ask to click it for the action.
    CallAbove,
    /// The lines above name the action.
    Above,
    /// The subject names the action.
    Subject,
    /// It carries a long token.
    Token,
    /// It carries a short or named token.
    ShortToken,
    /// It carries no token, so anybody could know it.
    NoToken,
    /// The mail has it twice.
    Repeated,
    /// Its label is as long as a sentence.
    LongLabel,
    /// Nothing at the link itself names the action.
    Unnamed,
}

/// The points of each rule.
const TABLE: &[(LinkRule, i32)] = &[
    (LinkRule::Label, 40),
    (LinkRule::Address, 30),
    (LinkRule::Call, 30),
    (LinkRule::Sentence, 15),
    (LinkRule::CallAbove, 25),
    (LinkRule::Above, 10),
    (LinkRule::Subject, 10),
    (LinkRule::Token, 40),
    (LinkRule::ShortToken, 30),
    (LinkRule::NoToken, -15),
    (LinkRule::Repeated, 8),
    (LinkRule::LongLabel, -10),
    (LinkRule::Unnamed, -20),
];

impl LinkRule {
    /// The points that it gives, negative if it takes some.
    pub fn points(self) -> i32 {
        TABLE
            .iter()
            .find(|(rule, _)| *rule == self)
            .map_or(0, |(_, points)| *points)
    }

    /// Its name in a feature.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Address => "address",
            Self::Call => "call",
            Self::Sentence => "sentence",
            Self::CallAbove => "callabove",
            Self::Above => "above",
            Self::Subject => "subject",
            Self::Token => "token",
            Self::ShortToken => "shorttoken",
            Self::NoToken => "notoken",
            Self::Repeated => "repeated",
            Self::LongLabel => "longlabel",
            Self::Unnamed => "unnamed",
        }
    }

    /// Evidence about this link rather than about the mail.
    pub(super) fn names_the_link(self) -> bool {
        matches!(
            self,
            Self::Label | Self::Address | Self::Call | Self::Sentence | Self::CallAbove
        )
    }
}
