//! What may be handed out.

use crate::Allowlist;
use crate::expected::ExpectedCode;

/// The rules that a decision follows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The hosts that links may lead to.
    pub links: Allowlist,
    /// The least confidence, in percent, of a code or a link that is handed out. 0 leaves
    /// the choice to the extractor, which asks for less when the rules agree.
    pub threshold: u8,
    /// The form of the code, if the caller knows it. Everything else in the mail is then no
    /// rival of the code.
    pub expected: Option<ExpectedCode>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            links: Allowlist::any(),
            threshold: 0,
            expected: None,
        }
    }
}
