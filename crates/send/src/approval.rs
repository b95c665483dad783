//! Whether an operator must approve a mail before it is sent.

use serde::Deserialize;

/// When an operator is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Never: the mail is sent at once.
    #[default]
    Never,
    /// Always: the mail is held until an operator approves it.
    Always,
}
