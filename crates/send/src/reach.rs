//! Whether a provider can be reached, without sending anything.

/// What a provider said to a request without a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It answers.
    Reached,
    /// There is no connection, or no answer.
    NotReached,
    /// It refuses the user name and the password. Only SMTP servers are asked: an API has
    /// no harmless request that every key is allowed.
    LoginRefused,
}
