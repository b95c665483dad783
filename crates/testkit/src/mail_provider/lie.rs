//! How the provider lies.

/// What the provider does with one request to send. It is honest unless told otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lie {
    /// Accepts the mail and answers 500.
    ErrorAfterAccepting,
    /// Accepts the mail and answers 200 with a body that is not the contract's.
    GarbageAfterAccepting,
    /// Resets the connection after the head of the request. Accepts nothing.
    ResetBeforeBody,
    /// Resets the connection in the middle of the body. Accepts nothing.
    ResetInBody,
    /// Accepts the mail and resets the connection.
    ResetAfterAccepting,
    /// Accepts the mail and answers never.
    SilenceAfterAccepting,
    /// Accepts nothing and answers never.
    Silence,
    /// Accepts nothing and answers with this status and body.
    Answer(u16, String),
    /// Reads nothing until `MailProvider::release` is called, then is honest.
    StallBeforeReading,
    /// Reads the request, waits until `MailProvider::release` is called, then is honest.
    StallBeforeAccepting,
    /// Accepts the mail, waits until `MailProvider::release` is called, then answers.
    StallAfterAccepting,
}
