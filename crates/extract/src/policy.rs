//! What may be handed out.

use crate::Allowlist;

/// The rules that a decision follows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The hosts that links may lead to.
    pub links: Allowlist,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            links: Allowlist::any(),
        }
    }
}
