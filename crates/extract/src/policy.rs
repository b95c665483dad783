//! What the operator wants.

use crate::Allowlist;

/// The operator's choices.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Where links may lead.
    pub links: Allowlist,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            links: Allowlist::any(),
        }
    }
}
