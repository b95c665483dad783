//! How the answer came about, as data. It never holds a value.

use serde::Serialize;

use crate::code::Considered;
use crate::link::ConsideredLink;

/// Changes whenever the rules or the lexicons do.
pub(crate) const RULESET: &str = "1";

/// Everything needed to understand an answer, and nothing to act on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The version of the rules.
    pub ruleset: &'static str,
    /// The candidates for the code, best first.
    pub code: Vec<Considered>,
    /// The links, best first.
    pub links: Vec<ConsideredLink>,
}
