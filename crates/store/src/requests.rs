//! Whether a request has come before.

use pipeline::Request;

/// What noting a request has found.
pub(crate) enum Noted {
    /// It is new, and noted if this transaction commits.
    New,
    /// It came before, and made this.
    Before(String),
    /// Its key was used for another request.
    Reused,
}

impl Noted {
    /// What the row says that has the key already.
    pub(crate) fn by_row(request: &Request, tag: &[u8], made: String) -> Self {
        if tag == request.tag {
            Self::Before(made)
        } else {
            Self::Reused
        }
    }
}
