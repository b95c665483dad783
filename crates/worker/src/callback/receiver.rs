//! Where callbacks lead, as the operator has configured it.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use secrecy::SecretString;
use url::Url;

/// How long a receiver may be given to answer; a claim holds longer.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);
const MOST_PATIENCE: Duration = Duration::from_secs(20);

/// Where a callback leads.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where its posts go.
    pub url: Url,
    /// What they are signed with: `whsec_…`.
    pub secret: SecretString,
    /// How long it may take to answer.
    pub patience: Duration,
}

impl Receiver {
    /// How long it may take to answer, unless its operator says otherwise.
    pub const PATIENCE: Duration = Duration::from_secs(10);

    pub(super) fn check(&self, name: &str) -> Result<(), CallbacksError> {
        if !is_name(name) {
            return Err(CallbacksError::Name(name.escape_debug().to_string()));
        }
        if !is_safe(&self.url) {
            return Err(CallbacksError::Url(name.to_owned()));
        }
        let tried = providers::sign(&self.secret, "id", SystemClock.now(), b"");
        if tried.is_err() {
            return Err(CallbacksError::Secret(name.to_owned()));
        }
        if !(LEAST_PATIENCE..=MOST_PATIENCE).contains(&self.patience) {
            return Err(CallbacksError::Patience(name.to_owned()));
        }
        Ok(())
    }
}

/// The configured receivers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CallbacksError {
    /// A name stands in rows, metrics and requests: nothing odd may be in it.
    #[error("callback `{0}`: a name is 1 to 40 of a-z, 0-9, - and _")]
    Name(String),
    /// Values go over the wire: only to `https`, or to this machine.
    #[error("callback `{0}`: the URL must be https, or http to this machine")]
    Url(String),
    /// Not a secret as Standard Webhooks has it.
    #[error("callback `{0}`: the secret must be `whsec_` and base64 of 24 to 64 bytes")]
    Secret(String),
    /// A claim would end before the try does, or no try could succeed.
    #[error("callback `{0}`: the timeout must be 100ms to 20s")]
    Patience(String),
    /// No client could be built.
    #[error("failed to build the client for callbacks")]
    Client(#[from] reqwest::Error),
}

fn is_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=40).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Whether a value may be sent there at all.
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
    fn names_are_plain() {
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
    fn values_go_over_https_or_stay_here() {
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
