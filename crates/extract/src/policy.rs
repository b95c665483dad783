//! What may be handed out.

use crate::Allowlist;

/// The rules that a decision follows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The hosts that links may lead to.
    pub links: Allowlist,
    /// The least confidence, in percent, of a code or a link that is handed out. 0 leaves
    /// the choice to the extractor, which asks for less when the rules agree.
    pub threshold: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            links: Allowlist::any(),
            threshold: 0,
        }
    }
}
