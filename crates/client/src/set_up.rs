//! Why a client cannot be built.

/// Why a client cannot be built; nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The address of the server has no path.
    #[error("the server's URL must begin with http:// or https://")]
    Url,
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client")]
    Http(#[source] reqwest::Error),
}
