//! A mail that the webhook tells of and does not carry: where it is to be had.
//! This crate says where; who fetches it is the worker.

use pipeline::Timestamp;
use secrecy::SecretString;

use crate::{Scope, SenderVerdict};

/// Where a mail is, below the provider's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteMail {
    /// The envelope's recipients; unparsed.
    pub recipients: Vec<String>,
    /// The segments of the path, to be escaped by whoever builds the URL.
    pub path: Vec<String>,
    /// The query, if there is one.
    pub query: Option<(&'static str, &'static str)>,
    /// The provider's own id for it, as in [`crate::InboundMail`].
    pub provider_id: Option<String>,
    /// What is there.
    pub holds: Holds,
    /// When the provider received it, if the payload says so.
    pub received_at: Option<Timestamp>,
    /// What the provider has found about the sender, if it says so.
    pub sender: Option<SenderVerdict>,
}

/// What a provider's API answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The message itself.
    Message,
    /// JSON with the message at these keys, in the base64 of URLs.
    Base64Url(&'static [&'static str]),
    /// JSON with a link to the message at these keys.
    Link(&'static [&'static str]),
}

/// A provider's API, as a source may use it.
#[derive(Debug, Clone)]
pub struct Api {
    /// Where it is; nothing is ever fetched from anywhere else.
    pub url: String,
    /// What to show it, or to sign with.
    pub key: SecretString,
    /// For whom and where to sign, if requests are signed as AWS has it; else
    /// the key is shown as it is.
    pub scope: Option<Scope>,
}

/// A subscription that waits for our yes: a URL at the provider to be got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The provider's own place; nothing of the post is in it.
    pub base: String,
    /// The query, to be escaped by whoever builds the URL.
    pub query: Vec<(&'static str, String)>,
}
