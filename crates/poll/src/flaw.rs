//! What can be wrong with a source's `poll` settings.

/// What is wrong with a source's `poll` settings.
#[derive(Debug, thiserror::Error)]
pub enum PollFlaw {
    /// Its provider cannot be polled.
    #[error("this provider cannot be polled")]
    NoPolling,
    /// A setting is missing.
    #[error("`{0}` must be set for this provider to be polled")]
    Missing(&'static str),
    /// A setting has a value that cannot be used.
    #[error("`{0}` cannot be used: {1}")]
    Unfit(&'static str, &'static str),
    /// The client could not be built.
    #[error("failed to build a client")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}
