//! What is wrong with a request body. Nothing of the body itself is repeated.

use std::borrow::Cow;
use std::fmt;

/// The rule of a body with a field that is not known.
const UNKNOWN_FIELD: &str = "unknown_field";

/// The invalid field, if it is a known one, and what it may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidBody {
    pub(super) field: Option<&'static str>,
    pub(super) rule: Cow<'static, str>,
    /// The names of all fields, if an unknown one is the reason.
    known: Vec<&'static str>,
}

impl InvalidBody {
    /// The body as a whole is invalid.
    pub(crate) fn whole(rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: None,
            rule: rule.into(),
            known: Vec::new(),
        }
    }

    /// One field of it is invalid.
    pub(crate) fn field(name: &'static str, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: Some(name),
            ..Self::whole(rule)
        }
    }

    /// It has a field besides the known ones.
    pub(crate) fn unknown_field(known: Vec<&'static str>) -> Self {
        Self {
            known,
            ..Self::whole(UNKNOWN_FIELD)
        }
    }
}

/// The sentence for the caller: the field and its rule.
impl fmt::Display for InvalidBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        match self.field {
            Some(field) => write!(f, "the field `{field}` is invalid; allowed: {rule}"),
            None if rule == UNKNOWN_FIELD && self.known.is_empty() => {
                f.write_str("the body has an unknown field; allowed: no fields")
            }
            None if rule == UNKNOWN_FIELD => {
                let known = self.known.join("`, `");
                write!(f, "the body has an unknown field; allowed: `{known}`")
            }
            None => write!(f, "the body is invalid; allowed: {rule}"),
        }
    }
}
