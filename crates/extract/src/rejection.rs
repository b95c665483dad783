//! Why a link is refused.

use thiserror::Error;

/// The first check that a URL failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// Longer than 2,048 bytes.
    #[error("the link is longer than 2,048 bytes")]
    TooLong,
    /// Whitespace, a backslash, or a character outside printable ASCII.
    #[error("the link has characters that no link should have")]
    Characters,
    /// Not `https://`.
    #[error("the link is not https")]
    Scheme,
    /// Not a URL.
    #[error("the link is not a valid URL")]
    Malformed,
    /// A user name or a password.
    #[error("the link has a user name or a password")]
    Userinfo,
    /// Another port than 443.
    #[error("the link has a port other than 443")]
    Port,
    /// No host.
    #[error("the link has no host")]
    NoHost,
    /// An IP address instead of a name, in any notation.
    #[error("the host is an IP address")]
    IpLiteral,
    /// Not a valid host name.
    #[error("the host name is not valid")]
    BadHost,
    /// A name of a private network, or one that resolves to any address.
    #[error("the host is internal")]
    Internal,
    /// An international name without an exact entry in the allowlist.
    #[error("the host is an international name without an exact entry in the allowlist")]
    Idn,
    /// The host is itself a public suffix.
    #[error("the host has no registrable domain")]
    NotRegistrable,
    /// A host outside the allowlist.
    #[error("the host is not in the allowlist")]
    NotAllowed,
    /// The URL names a second host, outside the allowlist, to redirect to.
    #[error("the link redirects to a host that is not in the allowlist")]
    Redirect,
    /// The text shows one host and the link leads to another.
    #[error("the link shows one host and leads to another")]
    TextHostMismatch,
    /// A tracking link whose target cannot be read offline.
    #[error("the link is wrapped and its target cannot be read offline")]
    WrappedOpaque,
    /// More wrappers around one another than are taken off.
    #[error("the link is wrapped more than five times")]
    WrappedTooOften,
}
