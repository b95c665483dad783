//! Every rule and its points, in one table.

/// A rule that gives points to a candidate, or takes some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// "verification code: X".
    LabelDirect,
    /// "verification code X".
    LabelBare,
    /// "the verification code for your account is X".
    LabelLinked,
    /// The label is a few words back.
    LabelNear,
    /// The label is further back in the sentence.
    LabelFar,
    /// The label is in the sentence before.
    LabelEarlier,
    /// "code: X".
    WordDirect,
    /// "the code for your account is X".
    WordLinked,
    /// The word "code" is a few words back.
    WordNear,
    /// The word "code" is further back in the sentence.
    WordFar,
    /// The word "code" is in the sentence before.
    WordEarlier,
    /// "X is your verification code".
    LabelAfterDirect,
    /// "X, the verification code".
    LabelAfter,
    /// "X is your code".
    WordAfter,
    /// Alone on its line, a label in the lines above.
    AloneBelowLabel,
    /// Alone on its line, "code" in the lines above.
    AloneBelowWord,
    /// Alone on its line, the label in the line below.
    AloneAboveLabel,
    /// Alone on its line in a mail that mentions a code.
    AloneInCodeMail,
    /// Alone in an element whose class or id says "code".
    AloneMarked,
    /// Alone, in a shape that only codes have: `G-123456`.
    AlonePrefixed,
    /// Alone and large in a short mail in an unknown language.
    AloneUnknown,
    /// Alone on its line, directly below its purpose: "sign in".
    AloneBelowPurpose,
    /// Alone on its line in a mail about signing in.
    AloneInAuthMail,
    /// "enter X".
    Imperative,
    /// "enter X to sign in".
    ImperativeToSignIn,
    /// Alone on its line in a mail that says how long it is valid.
    AloneWithExpiry,
    /// Two labels, one before and one after.
    LabelledTwice,
    /// "(code X)".
    Bracketed,
    /// The subject mentions a code.
    SubjectLabel,
    /// The mail says how long something is valid.
    Expiry,
    /// The mail is about signing in or confirming.
    AuthMail,
    /// Printed larger or wider than the text.
    Emphasis,
    /// The same value in another part of the mail.
    Agreement,
    /// A length or shape that codes often have.
    LikelyShape,
    /// A shape that codes rarely have.
    UnlikelyShape,
    /// A closer term names another kind of number.
    OtherNumber,
    /// A term names a code of another kind.
    OtherKind,
    /// It looks like a year or a date.
    YearOrDate,
    /// A number sign comes before it.
    Numbered,
    /// The text calls it old or used.
    Stale,
    /// Another candidate is between the label and this one.
    Overshadowed,
    /// The same sentence mentions a discount or a booking.
    OtherContext,
    /// The subject is about an order, an offer or a newsletter.
    CommercialMail,
    /// It is written like an ordinary word, and no label marks it as a code.
    PlainWord,
}

/// Every rule with its public word and its points.
const TABLE: &[(Rule, &str, i32)] = &[
    (Rule::LabelDirect, "label_direct", 74),
    (Rule::LabelBare, "label_bare", 66),
    (Rule::LabelLinked, "label_linked", 72),
    (Rule::LabelNear, "label_near", 62),
    (Rule::LabelFar, "label_far", 48),
    (Rule::LabelEarlier, "label_earlier", 35),
    (Rule::WordDirect, "word_direct", 62),
    (Rule::WordLinked, "word_linked", 52),
    (Rule::WordNear, "word_near", 40),
    (Rule::WordFar, "word_far", 25),
    (Rule::WordEarlier, "word_earlier", 15),
    (Rule::LabelAfterDirect, "label_after_direct", 67),
    (Rule::LabelAfter, "label_after", 62),
    (Rule::WordAfter, "word_after", 60),
    (Rule::AloneBelowLabel, "alone_below_label", 60),
    (Rule::AloneBelowWord, "alone_below_word", 48),
    (Rule::AloneAboveLabel, "alone_above_label", 45),
    (Rule::AloneInCodeMail, "alone_in_code_mail", 40),
    (Rule::AloneMarked, "alone_marked", 52),
    (Rule::AlonePrefixed, "alone_prefixed", 50),
    (Rule::AloneUnknown, "alone_unknown", 45),
    (Rule::AloneBelowPurpose, "alone_below_purpose", 45),
    (Rule::AloneInAuthMail, "alone_in_auth_mail", 25),
    (Rule::Imperative, "imperative", 30),
    (Rule::ImperativeToSignIn, "imperative_to_sign_in", 46),
    (Rule::AloneWithExpiry, "alone_with_expiry", 54),
    (Rule::LabelledTwice, "labelled_twice", 10),
    (Rule::Bracketed, "bracketed", 8),
    (Rule::SubjectLabel, "subject_label", 10),
    (Rule::Expiry, "expiry", 8),
    (Rule::AuthMail, "auth_mail", 7),
    (Rule::Emphasis, "emphasis", 5),
    (Rule::Agreement, "agreement", 12),
    (Rule::LikelyShape, "likely_shape", 12),
    (Rule::UnlikelyShape, "unlikely_shape", -12),
    (Rule::OtherNumber, "other_number", -70),
    (Rule::OtherKind, "other_kind", -75),
    (Rule::YearOrDate, "year_or_date", -45),
    (Rule::Numbered, "numbered", -25),
    (Rule::Stale, "stale", -40),
    (Rule::Overshadowed, "overshadowed", -30),
    (Rule::OtherContext, "other_context", -45),
    (Rule::CommercialMail, "commercial_mail", -45),
    (Rule::PlainWord, "plain_word", -200),
];

impl Rule {
    fn row(self) -> Option<&'static (Self, &'static str, i32)> {
        TABLE.iter().find(|(rule, _, _)| *rule == self)
    }

    /// The points that it gives, negative if it takes some.
    pub fn points(self) -> i32 {
        self.row().map_or(0, |(_, _, points)| *points)
    }

    pub(super) fn is_strong_label(self) -> bool {
        matches!(
            self,
            Self::LabelDirect
                | Self::LabelBare
                | Self::LabelLinked
                | Self::LabelNear
                | Self::LabelAfterDirect
                | Self::LabelAfter
                | Self::AloneBelowLabel
        )
    }

    /// The stable public word.
    pub fn as_str(self) -> &'static str {
        self.row().map_or("none", |(_, word, _)| word)
    }
}
