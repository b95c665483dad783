//! Why a queue cannot be opened.

/// The settings cannot be used. An unavailable broker is not an error here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL does not name a broker. The message does not repeat the URL, because
    /// it may hold a password.
    #[error(
        "the queue's URL is malformed: {0}; it should look like amqp://user:password@host:5672/vhost"
    )]
    MalformedUrl(&'static str),
    /// The broker would refuse this name.
    #[error("the queue's name must have 1 to 200 of A-Z, a-z, 0-9, `.`, `-` and `_`")]
    MalformedName,
    /// The `ca_file` cannot be used to verify the broker.
    #[error("the queue's ca_file cannot be read or holds no certificates in PEM")]
    MalformedCertificates,
    /// With a prefetch or a capacity of 0 no notification would be delivered.
    #[error("the queue's prefetch and capacity must be at least 1")]
    Nothing,
}
