//! How a database operation fails.

use crate::Class;

/// A database operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable, busy, or did not answer in time. Whether the work
    /// was done is unknown.
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database returned something impossible: a bug of ours or a damaged row.
    #[error("the database returned or refused something unexpected")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether a retry may help.
    pub fn class(&self) -> Class {
        match self {
            Self::Unavailable(_) => Class::Transient,
            Self::Broken(_) => Class::Permanent,
        }
    }
}
