//! Why a mail is not read.

use thiserror::Error;

/// Why a mail is not read.
///
/// Every refusal is permanent: the same bytes are always refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No bytes, or only whitespace and NULs.
    #[error("the mail is empty")]
    Empty,
    /// No header field at the top.
    #[error("the bytes do not begin with a header field")]
    NotMail,
    /// More bytes than a mail may have.
    #[error("the mail is larger than 10 MiB")]
    TooLarge,
    /// Multiparts or attached messages are nested too deep.
    #[error("the parts of the mail are nested too deep")]
    TooDeep,
    /// More parts than a mail may have.
    #[error("the mail has too many parts")]
    TooManyParts,
    /// More header fields, or more header bytes, than a mail may have.
    #[error("a header block is too large")]
    HeadersTooLarge,
    /// Reading needs more steps than the size of the mail allows.
    #[error("reading the mail takes too many steps")]
    TooCostly,
}

impl Refusal {
    /// The stable public word.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotMail => "not_mail",
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
            Self::TooManyParts => "too_many_parts",
            Self::HeadersTooLarge => "headers_too_large",
            Self::TooCostly => "too_costly",
        }
    }
}
