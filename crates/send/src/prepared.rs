//! A mail as its provider is given it. It is made once and stored sealed; a retry and a
//! replay send the same bytes.

use pipeline::SendPayload;
use serde::{Deserialize, Serialize};

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
