//! What can be wrong with a source's settings.

use crate::proof::key::KeyError;

/// What is wrong with a source's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceFlaw {
    /// Its name cannot be part of a URL's path.
    #[error("a source name is 1 to 40 of a-z, 0-9, `-` and `_`")]
    Name,
    /// Its provider is unknown.
    #[error("unknown provider `{name}`; known are: {known}")]
    Provider {
        /// The name as configured.
        name: String,
        /// The names of all providers.
        known: String,
    },
    /// Its provider takes no such setting.
    #[error("this provider takes no `{0}`")]
    Unfit(&'static str),
    /// Its provider needs a setting that is missing.
    #[error("`{0}` must be set for this provider")]
    Missing(&'static str),
    /// A setting has a value that cannot be used.
    #[error("`{0}` cannot be used")]
    Unusable(&'static str),
    /// Its secrets cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its public key cannot be used.
    #[error("`public_key` is {0}")]
    PublicKey(&'static str),
    /// Its tolerance is out of bounds.
    #[error("`tolerance_seconds` is {least} to {most}")]
    Tolerance {
        /// The least that may be set.
        least: u64,
        /// The most that may be set.
        most: u64,
    },
    /// Its scheme is not consistent.
    #[error("in `scheme`, {0}")]
    Scheme(&'static str),
    /// It has a username without a password, or a password without a username.
    #[error("`username` and `password` must be set together")]
    HalfBasicAuth,
    /// Its password is short enough to be guessed.
    #[error("`password` and `url_token` need at least {0} bytes")]
    ShortPassword(usize),
    /// Nothing would prove its posts.
    #[error(
        "nothing proves the posts of this source: set `username` and `password`, or `url_token`"
    )]
    Unproven,
}
