//! The receivers of callbacks, as the operator configured them.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use secrecy::SecretString;
use url::Url;

/// Bounds of a receiver's timeout. A claim holds longer than the longest timeout.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A receiver of callbacks.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where callbacks are posted.
    pub url: Url,
    /// The signing secret: `whsec_…`.
    pub secret: SecretString,
    /// How long it may take to answer.
    pub timeout: Duration,
}

impl Receiver {
    /// The timeout when the operator sets none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    pub(super) fn check(&self, name: &str) -> Result<(), CallbacksError> {
        if !is_name(name) {
            return Err(CallbacksError::Name(name.escape_debug().to_string()));
        }
        if !is_safe(&self.url) {
            return Err(CallbacksError::Url(name.to_owned()));
        }
        let signed = providers::sign(&self.secret, "id", SystemClock.now(), b"");
        if signed.is_err() {
            return Err(CallbacksError::Secret(name.to_owned()));
        }
        if !(SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(&self.timeout) {
            return Err(CallbacksError::Timeout(name.to_owned()));
        }
        Ok(())
    }
}

/// The configured receivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CallbacksError {
    /// Names appear in rows, metrics and requests, so their characters are limited.
    #[error("callback `{0}`: a name is 1 to 40 of a-z, 0-9, - and _")]
    Name(String),
    /// Values are secrets: they are sent over `https` or to this machine only.
    #[error("callback `{0}`: the URL must be https, or http to this machine")]
    Url(String),
    /// The secret does not have the form that Standard Webhooks defines.
    #[error("callback `{0}`: the secret must be `whsec_` and base64 of 24 to 64 bytes")]
    Secret(String),
    /// The timeout is too short to succeed, or longer than a claim allows.
    #[error("callback `{0}`: the timeout must be 100ms to 20s")]
    Timeout(String),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client for callbacks")]
    Client(#[from] reqwest::Error),
}

fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=40).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Whether a value may be sent to this URL.
fn is_safe(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callback_names_are_limited_to_plain_characters() {
        for (name, fits) in [
            ("flow", true),
            ("sign-up_2", true),
            ("", false),
            ("Flow", false),
            ("a b", false),
            ("a\u{1}", false),
            (&"a".repeat(41), false),
        ] {
            assert_eq!(is_name(name), fits, "{name:?}");
        }
    }

    #[test]
    fn callback_urls_must_be_https_or_loopback() {
        for safe in [
            "https://hooks.example.com/x",
            "http://127.0.0.1:9/x",
            "http://[::1]:9/",
        ] {
            assert!(is_safe(&safe.parse().unwrap()), "{safe}");
        }
        for unsafe_one in [
            "http://example.com/",
            "http://10.0.0.1/",
            "ftp://localhost/",
        ] {
            assert!(!is_safe(&unsafe_one.parse().unwrap()), "{unsafe_one}");
        }
    }
}
