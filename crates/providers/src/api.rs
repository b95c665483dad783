//! A provider's API, for mail that a post does not hold. This crate only says where
//! mail is and how to sign a request; the worker and the poller make the requests.

pub(crate) mod aws_signature;
pub(crate) mod own_hosts;

use secrecy::SecretString;

use aws_signature::Scope;

/// A provider's API, as a source may use it.
#[derive(Debug, Clone)]
pub struct Api {
    /// The API's URL. Nothing is ever fetched from a host that is not the provider's.
    pub url: String,
    /// The key to send, or to sign with.
    pub key: SecretString,
    /// The AWS scope to sign requests for; without one the key is sent as it is.
    pub scope: Option<Scope>,
}
