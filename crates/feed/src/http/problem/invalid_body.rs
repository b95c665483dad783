//! What is wrong with a request body. Nothing of the body itself is repeated.

use std::borrow::Cow;

/// The invalid field, if it is a known one, and what it may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidBody {
    pub(super) field: Option<&'static str>,
    pub(super) rule: Cow<'static, str>,
}

impl InvalidBody {
    /// The body as a whole is invalid.
    pub(crate) fn whole(rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: None,
            rule: rule.into(),
        }
    }

    /// One field of it is invalid.
    pub(crate) fn field(name: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: Some(name),
            ..Self::whole(rule)
        }
    }
}
