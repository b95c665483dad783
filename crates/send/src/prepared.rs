//! A mail as its provider is given it. It is made once and stored sealed; a retry and a
//! replay send the same bytes.

use pipeline::SendPayload;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::form_urlencoded;

use crate::mail::Mail;

/// A field of a form: its name and its value.
pub(crate) type Field = (String, String);

/// The request to a provider, without what changes from try to try (keys, signatures).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prepared {
    /// The provider that it was made for. No other one may be given it.
    pub(crate) provider: String,
    /// The address that it is sent from.
    pub(crate) from: String,
    /// The address that it is sent to.
    pub(crate) to: String,
    /// The path of the request, in segments.
    #[serde(default)]
    pub(crate) path: Vec<String>,
    /// The body of the request, or the message.
    pub(crate) body: String,
}

impl Prepared {
    /// A request of JSON to a provider's API.
    pub(crate) fn request(provider: &str, mail: &Mail, path: &[&str], body: &Value) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        Self::new(provider, mail, path, body.to_string())
    }

    /// A form for a provider's API.
    pub(crate) fn form(provider: &str, mail: &Mail, path: &[&str], fields: &[Field]) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        Self::new(provider, mail, path, form.finish())
    }

    /// A message for a server that takes messages as they are.
    pub(crate) fn message(provider: &str, mail: &Mail) -> Self {
        Self::new(provider, mail, Vec::new(), mail.message())
    }

    fn new(provider: &str, mail: &Mail, path: Vec<String>, body: String) -> Self {
        Self {
            provider: provider.to_owned(),
            from: mail.from.address().to_string(),
            to: mail.to.as_str().to_owned(),
            path,
            body,
        }
    }

    /// The bytes to store.
    pub(crate) fn payload(&self) -> Option<SendPayload> {
        serde_json::to_vec(self).ok().map(SendPayload::new)
    }

    /// What was stored.
    pub(crate) fn read(payload: &SendPayload) -> Option<Self> {
        serde_json::from_slice(payload.as_bytes()).ok()
    }

    /// The path as text, for requests.
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}
