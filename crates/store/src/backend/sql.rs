//! The text of a statement.

/// One statement in both dialects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) postgres: &'static str,
    pub(crate) sqlite: &'static str,
}

impl Sql {
    /// A statement that both databases read alike.
    pub(crate) const fn both(text: &'static str) -> Self {
        Self {
            postgres: text,
            sqlite: text,
        }
    }
}
