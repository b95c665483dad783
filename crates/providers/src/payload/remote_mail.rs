//! A mail that a post announces and does not hold: where it can be fetched. This
//! crate says where; the worker fetches it.

use pipeline::Timestamp;

use super::mail::SenderVerdict;

/// Where a mail is, as a path below the provider's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteMail {
    /// The recipients of the envelope; unparsed.
    pub recipients: Vec<String>,
    /// The segments of the path; whoever builds the URL escapes them.
    pub path: Vec<String>,
    /// The query, if there is one.
    pub query: Option<(&'static str, &'static str)>,
    /// The provider's own id for it, as in [`crate::InboundMail`].
    pub provider_id: Option<String>,
    /// What the API answers with.
    pub holds: Holds,
    /// When the provider received it, if the payload says so.
    pub received_at: Option<Timestamp>,
    /// The sender that the provider states, as in [`crate::InboundMail`].
    pub stated_from: Option<String>,
    /// What the provider has found out about the sender, if it says so.
    pub sender: Option<SenderVerdict>,
    /// What else the provider has found out, as in [`crate::InboundMail`].
    pub flags: Vec<&'static str>,
}

/// What a provider's API answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The message itself.
    Message,
    /// JSON with the message at these keys, as URL-safe base64.
    Base64Url(&'static [&'static str]),
    /// JSON with a link to the message at these keys.
    Link(&'static [&'static str]),
    /// The same; without a link, the message is rebuilt from fields of the same answer by
    /// [`crate::message_of_answer`].
    LinkOrFields(&'static [&'static str]),
}

/// A subscription that we must confirm by fetching a URL of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The provider's own base URL; nothing in it comes from the post.
    pub base: String,
    /// The query; whoever builds the URL escapes it.
    pub query: Vec<(&'static str, String)>,
}
