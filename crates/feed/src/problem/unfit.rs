//! What is wrong with a body, without a word of it.

use std::borrow::Cow;

/// The field that does not fit, if it is one of ours, and what it may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(super) field: Option<&'static str>,
    pub(super) rule: Cow<'static, str>,
}

impl Unfit {
    /// The body as a whole does not fit.
    pub(crate) fn whole(rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: None,
            rule: rule.into(),
        }
    }

    /// One field of it does not fit.
    pub(crate) fn field(name: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: Some(name),
            ..Self::whole(rule)
        }
    }
}
