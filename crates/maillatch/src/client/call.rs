//! One HTTP call, and how it can fail.

use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::{RequestBuilder, StatusCode, redirect};
use url::{Host, Url};

use super::complaint::Complaint;

/// The longest wait of the feed and some time for the way.
const PATIENCE: Duration = Duration::from_secs(70);
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// A call did not get an answer that it could use.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no server, or the answer was lost on its way; whether the
    /// request was done is unknown.
    #[error("the server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The key is missing or wrong.
    #[error("the server does not accept the key")]
    Unauthenticated,
    /// The key is good, and not for this.
    #[error("the key lacks {}", scope.as_ref().map_or("the scope for this".to_owned(), |scope| format!("the scope `{scope}`")))]
    Forbidden {
        /// The scope that it lacks.
        scope: Option<String>,
    },
    /// There is no such thing for this key.
    #[error("the server has nothing there for this key")]
    NotFound,
    /// Too many requests at once.
    #[error("the server asks to come back later")]
    Busy,
    /// The server is there and its store is not.
    #[error("the server is temporarily unavailable")]
    Unavailable,
    /// What was asked for cannot be: it is out of bounds, or contradicts what was
    /// asked for before.
    #[error("the server does not take this: {0}")]
    Invalid(Complaint),
    /// The server refused, for a reason that the caller cannot act on.
    #[error("the server answered {status}: {complaint}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// What it said.
        complaint: Complaint,
    },
    /// The answer is not what this version of the client knows.
    #[error("the server's answer cannot be read")]
    Odd(#[source] serde_json::Error),
}

impl CallError {
    /// Whether the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Busy | Self::Unavailable => true,
            Self::Unauthenticated
            | Self::Forbidden { .. }
            | Self::NotFound
            | Self::Invalid(_)
            | Self::Refused { .. }
            | Self::Odd(_) => false,
        }
    }
}

/// A client for a server at `base`.
pub(super) fn http(base: &Url) -> Result<reqwest::Client> {
    // Whoever was first has installed this same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .timeout(PATIENCE)
        .connect_timeout(CONNECT_PATIENCE)
        // A redirect would carry the key or the mail to somewhere else.
        .redirect(redirect::Policy::none());
    if is_here(base) {
        builder = builder.no_proxy();
    }
    builder.build().context("failed to build the HTTP client")
}

fn is_here(base: &Url) -> bool {
    match base.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address of `segments` below `base`, each segment escaped.
pub(super) fn below(base: &Url, segments: &[&str]) -> Result<Url> {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.path_segments_mut()
        .ok()
        .context("the server's address must begin with http:// or https://")?
        .pop_if_empty()
        .extend(segments);
    Ok(url)
}

/// An answer that was received whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) is_replay: bool,
    pub(super) body: Vec<u8>,
}

/// Sends a request and reads the whole answer.
pub(super) async fn send(request: RequestBuilder) -> Result<Answer, CallError> {
    let response = request.send().await.map_err(CallError::Unreachable)?;
    let status = response.status();
    let is_replay = response.headers().contains_key("idempotency-replayed");
    let body = response.bytes().await.map_err(CallError::Unreachable)?;
    Ok(Answer {
        status,
        is_replay,
        body: body.to_vec(),
    })
}
