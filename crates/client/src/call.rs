//! One HTTP call, and how it can fail.

use std::time::Duration;

use reqwest::header::DATE;
use reqwest::{RequestBuilder, StatusCode, redirect};
use url::{Host, Url};

use crate::complaint::Complaint;
use crate::set_up::SetUpError;

/// The feed's longest wait, plus time for the network.
const TIMEOUT: Duration = Duration::from_secs(70);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no server, or its answer was lost. Whether the server acted is unknown.
    #[error("the server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The key is missing or wrong.
    #[error("the server does not accept the key")]
    Unauthenticated,
    /// The key is valid but lacks a scope.
    #[error("the key lacks {}", scope.as_ref().map_or("the scope for this".to_owned(), |scope| format!("the scope `{scope}`")))]
    Forbidden {
        /// The scope that it lacks.
        scope: Option<String>,
    },
    /// It does not exist, or this key may not see it.
    #[error("not found, or not visible to this key")]
    NotFound,
    /// The server's rate limit was reached.
    #[error("the server has too many requests from this key")]
    Busy,
    /// The server runs but its store is unavailable.
    #[error("the server is temporarily unavailable")]
    Unavailable,
    /// A field is out of bounds, or contradicts an earlier request.
    #[error("the server refused the request: {0}")]
    Invalid(Complaint),
    /// The server refused for a reason that the caller cannot change.
    #[error("the server answered {status}: {complaint}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// What the server says.
        complaint: Complaint,
    },
    /// This version of the client does not understand the answer.
    #[error("the server's answer cannot be read")]
    Unreadable(#[source] serde_json::Error),
}

impl CallError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Busy | Self::Unavailable => true,
            Self::Unauthenticated
            | Self::Forbidden { .. }
            | Self::NotFound
            | Self::Invalid(_)
            | Self::Refused { .. }
            | Self::Unreadable(_) => false,
        }
    }

    /// Whether there was no server to connect to. The call did nothing then.
    pub fn is_refused_connection(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.is_connect())
    }
}

/// Whether requests go through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// Through the one that the environment names, unless the server is on this machine.
    OfEnvironment,
    None,
}

/// A client for a server at `base`.
pub(crate) fn http(base: &Url, proxy: Proxy) -> Result<reqwest::Client, SetUpError> {
    // An earlier call may have installed it already; it is the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        // A redirect would send the key or the mail to another server.
        .redirect(redirect::Policy::none());
    if proxy == Proxy::None || is_loopback(base) {
        builder = builder.no_proxy();
    }
    // Without TLS no certificates are needed, and a machine may have none.
    if base.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(SetUpError::Http)
}

fn is_loopback(base: &Url) -> bool {
    match base.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// `base` with `segments` appended to its path, each escaped.
pub(crate) fn below(base: &Url, segments: &[&str]) -> Result<Url, SetUpError> {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.path_segments_mut()
        .map_err(|()| SetUpError::Url)?
        .pop_if_empty()
        .extend(segments);
    Ok(url)
}

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) is_replay: bool,
    /// The server's time, as its `Date` header says it.
    pub(crate) date: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Sends a request and reads the whole answer.
pub(crate) async fn send(request: RequestBuilder) -> Result<Answer, CallError> {
    let response = request.send().await.map_err(CallError::Unreachable)?;
    let status = response.status();
    let is_replay = response.headers().contains_key("idempotency-replayed");
    let date = response.headers().get(DATE);
    let date = date.and_then(|date| date.to_str().ok()).map(str::to_owned);
    let body = response.bytes().await.map_err(CallError::Unreachable)?;
    Ok(Answer {
        status,
        is_replay,
        date,
        body: body.to_vec(),
    })
}
