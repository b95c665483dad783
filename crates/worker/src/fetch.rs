//! Fetches a mail that its webhook post did not carry, from the provider's API.
//! Links found in a mail are never fetched. The only links followed here are those
//! that the provider's own API returns, and only to the provider's hosts.

mod message_url;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use pipeline::{Class, Clock, Reason};
use providers::{Api, Confirmation, Holds, RemoteMail, is_own_host, message_of_answer};
use reqwest::header::LOCATION;
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use secrecy::ExposeSecret;
use url::Url;

use crate::failure::Failure;

use message_url::message_url;

/// How many redirects are followed for one URL.
const MOST_HOPS: usize = 4;

/// A mail could not be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// The API is unavailable or overloaded, or does not have the mail yet.
    #[error("the provider's API is unavailable")]
    Unavailable,
    /// The key is not accepted; an operator can correct it while we retry.
    #[error("the provider's API does not accept the key")]
    Unauthorised,
    /// The answer is not what the provider documents.
    #[error("the provider's API gave an unexpected answer")]
    UnexpectedAnswer,
    /// The mail is larger than the limit.
    #[error("the message is too large")]
    TooLarge,
    /// A redirect or link leads to a host that is not the provider's.
    #[error("the provider's API points to another host")]
    ForeignHost,
    /// The provider refuses the confirmation, usually because it came too late.
    #[error("the provider refuses the confirmation")]
    Refused,
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self {
            class: error.class(),
            reason: error.reason(),
        }
    }
}

impl FetchError {
    fn class(self) -> Class {
        match self {
            Self::Unavailable | Self::Unauthorised => Class::Upstream,
            Self::UnexpectedAnswer | Self::TooLarge | Self::ForeignHost | Self::Refused => {
                Class::Permanent
            }
        }
    }

    fn reason(self) -> Reason {
        Reason::new(match self {
            Self::Unavailable => "fetch_unavailable",
            Self::Unauthorised => "fetch_unauthorised",
            Self::UnexpectedAnswer => "fetch_odd",
            Self::TooLarge => "too_large",
            Self::ForeignHost => "fetch_leads_away",
            Self::Refused => "confirmation_refused",
        })
    }
}

/// A message as the provider's API has it.
pub(crate) struct FetchedMessage {
    pub(crate) raw: Vec<u8>,
    /// Whether it was rebuilt from parsed fields, so that no signature covers it.
    pub(crate) is_rebuilt: bool,
}

impl FetchedMessage {
    fn original(raw: Vec<u8>) -> Self {
        let is_rebuilt = false;
        Self { raw, is_rebuilt }
    }

    fn rebuilt(raw: Vec<u8>) -> Self {
        let is_rebuilt = true;
        Self { raw, is_rebuilt }
    }
}

/// Fetches mail from providers' APIs.
pub struct Fetcher {
    /// Built when it is needed first: a machine without certificates for TLS can process
    /// mail that its posts contain.
    client: OnceLock<Option<Client>>,
    clock: Arc<dyn Clock>,
    budget: Duration,
    most_bytes: usize,
}

impl Fetcher {
    /// A fetcher that spends at most `budget` on one mail of at most `most_bytes`.
    /// `clock` dates signed requests.
    pub fn new(clock: Arc<dyn Clock>, budget: Duration, most_bytes: usize) -> Self {
        Self {
            client: OnceLock::new(),
            clock,
            budget,
            most_bytes,
        }
    }

    fn client(&self) -> Result<&Client, FetchError> {
        let build = || {
            // Redirects are followed in `get`, which checks each target.
            let client = Client::builder().redirect(redirect::Policy::none());
            let client = client.build().inspect_err(|error| {
                let error: &dyn std::error::Error = error;
                tracing::error!(
                    error,
                    "no client for providers' APIs; install CA certificates and restart"
                );
            });
            client.ok()
        };
        let client = self.client.get_or_init(build).as_ref();
        client.ok_or(FetchError::Unavailable)
    }

    /// Fetches the message.
    pub(crate) async fn fetch(
        &self,
        api: &Api,
        mail: &RemoteMail,
    ) -> Result<FetchedMessage, FetchError> {
        let fetching = self.message(api, mail);
        match tokio::time::timeout(self.budget, fetching).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(FetchError::Unavailable),
        }
    }

    /// Confirms a subscription that the provider asks about. The URL's host is fixed
    /// by configuration, and redirects are refused.
    pub(crate) async fn confirm(&self, confirmation: &Confirmation) -> Result<(), FetchError> {
        let mut url = Url::parse(&confirmation.base)
            .ok()
            .ok_or(FetchError::UnexpectedAnswer)?;
        url.query_pairs_mut().extend_pairs(&confirmation.query);
        let answer = self.client()?.get(url).timeout(self.budget).send().await;
        let status = answer.ok().ok_or(FetchError::Unavailable)?.status();
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Err(FetchError::Unavailable)
            }
            status if status.is_client_error() => Err(FetchError::Refused),
            status if status.is_redirection() => Err(FetchError::ForeignHost),
            _ => Err(FetchError::Unavailable),
        }
    }

    async fn message(&self, api: &Api, mail: &RemoteMail) -> Result<FetchedMessage, FetchError> {
        let base = Url::parse(&api.url)
            .ok()
            .ok_or(FetchError::UnexpectedAnswer)?;
        let found = self.get(api, &base, message_url(&base, mail)?).await?;
        let original = match mail.holds {
            Holds::Message => Ok(found),
            Holds::Base64Url(keys) => {
                let text = text_at(&found, keys)?;
                let decoded = URL_SAFE_NO_PAD
                    .decode(&text)
                    .or_else(|_| URL_SAFE.decode(&text));
                decoded.ok().ok_or(FetchError::UnexpectedAnswer)
            }
            Holds::Link(keys) => self.linked(api, &base, &text_at(&found, keys)?).await,
            Holds::LinkOrFields(keys) => {
                let Ok(link) = text_at(&found, keys) else {
                    let rebuilt = message_of_answer(&found).map(FetchedMessage::rebuilt);
                    return rebuilt.ok_or(FetchError::UnexpectedAnswer);
                };
                self.linked(api, &base, &link).await
            }
        };
        original.map(FetchedMessage::original)
    }

    /// Gets the message that an answer links to.
    async fn linked(&self, api: &Api, base: &Url, link: &str) -> Result<Vec<u8>, FetchError> {
        let link = Url::parse(link).ok().ok_or(FetchError::UnexpectedAnswer)?;
        self.get(api, base, link).await
    }

    /// Gets a URL at the provider's hosts. The key is sent to the API's own host
    /// only.
    async fn get(&self, api: &Api, base: &Url, mut url: Url) -> Result<Vec<u8>, FetchError> {
        for _ in 0..MOST_HOPS {
            if !is_own_host(base, &url) {
                return Err(FetchError::ForeignHost);
            }
            let mut request = self.client()?.get(url.clone());
            if url.origin() == base.origin() {
                request = self.authorize(request, api, &url)?;
            }
            let response = request.send().await.ok().ok_or(FetchError::Unavailable)?;
            if !response.status().is_redirection() {
                return self.read(response).await;
            }
            let next = response
                .headers()
                .get(LOCATION)
                .and_then(|to| to.to_str().ok());
            url = next
                .and_then(|to| url.join(to).ok())
                .ok_or(FetchError::UnexpectedAnswer)?;
        }
        Err(FetchError::UnexpectedAnswer)
    }

    /// Adds the key as a bearer token, or signs the request with it.
    fn authorize(
        &self,
        request: RequestBuilder,
        api: &Api,
        url: &Url,
    ) -> Result<RequestBuilder, FetchError> {
        let Some(scope) = &api.scope else {
            return Ok(request.bearer_auth(api.key.expose_secret()));
        };
        let host = match (url.host_str().unwrap_or_default(), url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let headers = scope.sign(&api.key, &host, url.path(), self.clock.now());
        let headers = headers.ok_or(FetchError::UnexpectedAnswer)?;
        Ok(headers.into_iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        }))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, FetchError> {
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(FetchError::Unauthorised);
            }
            // A webhook post may arrive before the API has the mail.
            _ => return Err(FetchError::Unavailable),
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = response.chunk().await.ok().ok_or(FetchError::Unavailable)?;
            let Some(chunk) = chunk else { return Ok(bytes) };
            if bytes.len() + chunk.len() > self.most_bytes {
                return Err(FetchError::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
    }
}

fn text_at(json: &[u8], keys: &[&str]) -> Result<String, FetchError> {
    let json: serde_json::Value = serde_json::from_slice(json)
        .ok()
        .ok_or(FetchError::UnexpectedAnswer)?;
    let found = keys.iter().try_fold(&json, |value, key| value.get(key));
    let text = found.and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or(FetchError::UnexpectedAnswer)
}
