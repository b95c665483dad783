//! Requests to a source's API: only to its own hosts, with bounded answers, and with the
//! key sent to the API alone.

use std::time::Duration;

use pipeline::Timestamp;
use providers::is_own_host;
use reqwest::header::{ACCEPT, DATE, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use url::{Host, Url};

use super::PollError;

/// The most redirects that are followed for one answer.
const MOST_REDIRECTS: usize = 4;
/// The least size limit of a list, however small the limit for messages is.
const LIST_LIMIT: usize = 4 * 1024 * 1024;

/// How the API key is sent.
#[derive(Debug, Clone)]
pub(crate) enum Auth {
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// Basic authentication.
    Basic(&'static str, SecretString),
    /// Headers that the API defines.
    Headers(Vec<(HeaderName, SecretString)>),
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The body.
    pub(crate) body: Vec<u8>,
    /// The time of the answer, by the source's clock.
    pub(crate) date: Option<Timestamp>,
}

impl Answer {
    /// The answer as JSON.
    pub(crate) fn json(&self) -> Result<Value, PollError> {
        serde_json::from_slice(&self.body)
            .ok()
            .ok_or(PollError::UnexpectedAnswer)
    }
}

/// The result of one request.
#[derive(Debug)]
pub(crate) enum Got {
    /// The complete answer.
    Complete(Answer),
    /// It does not exist any more.
    Gone,
    /// It is larger than the limit.
    TooLarge,
}

/// One source's API.
pub(crate) struct Http {
    client: Client,
    base: Url,
    auth: Auth,
    message_limit: usize,
}

impl Http {
    /// The API at `base`.
    pub(crate) fn new(base: Url, auth: Auth, message_limit: usize) -> Result<Self, reqwest::Error> {
        // Redirects are followed below, after each target is checked.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .build()?;
        Ok(Self {
            client,
            base,
            auth,
            message_limit,
        })
    }

    /// A URL below the API, with each segment escaped.
    pub(crate) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Result<Url, PollError> {
        let mut url = self.base.clone();
        if segments.iter().any(|one| matches!(*one, "" | "." | "..")) {
            return Err(PollError::UnexpectedAnswer);
        }
        url.path_segments_mut()
            .ok()
            .ok_or(PollError::UnexpectedAnswer)?
            .pop_if_empty()
            .extend(segments);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The URL of the API.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Requests a list as JSON; also returns the time of the answer.
    pub(crate) async fn list(&self, url: Url) -> Result<(Value, Option<Timestamp>), PollError> {
        let limit = LIST_LIMIT.max(self.message_limit.saturating_mul(2));
        match self.get(url, "application/json", limit).await? {
            Got::Complete(answer) => Ok((answer.json()?, answer.date)),
            Got::Gone | Got::TooLarge => Err(PollError::UnexpectedAnswer),
        }
    }

    /// Requests a mail or its description. Twice the limit is allowed, because JSON and
    /// base64 are longer than the message in them.
    pub(crate) async fn mail(&self, url: Url, accept: &'static str) -> Result<Got, PollError> {
        self.get(url, accept, self.message_limit.saturating_mul(2))
            .await
    }

    /// Whether a message is larger than the limit.
    pub(crate) fn is_too_large(&self, message: &[u8]) -> bool {
        message.len() > self.message_limit
    }

    async fn get(&self, mut url: Url, accept: &str, limit: usize) -> Result<Got, PollError> {
        for _ in 0..MOST_REDIRECTS {
            if !is_own_host(&self.base, &url) {
                return Err(PollError::ForeignHost);
            }
            let request = self.client.get(url.clone()).header(ACCEPT, accept);
            let request = if gets_key(&self.base, &url) {
                self.with_key(request)
            } else {
                request
            };
            let response = request.send().await.ok().ok_or(PollError::Unavailable)?;
            if !response.status().is_redirection() {
                return self.read(response, limit, gets_key(&self.base, &url)).await;
            }
            let next = response.headers().get(LOCATION);
            let next = next.and_then(|to| to.to_str().ok());
            let next = next.and_then(|to| url.join(to).ok());
            url = next.ok_or(PollError::UnexpectedAnswer)?;
        }
        Err(PollError::UnexpectedAnswer)
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.auth {
            Auth::Bearer(key) => request.bearer_auth(key.expose_secret()),
            Auth::Basic(user, key) => request.basic_auth(user, Some(key.expose_secret())),
            Auth::Headers(headers) => headers.iter().fold(request, |request, (name, value)| {
                request.header(name, value.expose_secret())
            }),
        }
    }

    async fn read(
        &self,
        mut response: Response,
        limit: usize,
        is_api: bool,
    ) -> Result<Got, PollError> {
        let date = header_date(&response);
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if is_api => {
                return Err(PollError::Unauthorized);
            }
            // A download link at another host refuses when it has expired.
            StatusCode::NOT_FOUND
            | StatusCode::GONE
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN => return Ok(Got::Gone),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(PollError::Busy(retry_after(&response, date)));
            }
            status if status.is_server_error() => return Err(PollError::Unavailable),
            _ => return Err(PollError::UnexpectedAnswer),
        }
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await.ok().ok_or(PollError::Unavailable)?;
            let Some(chunk) = chunk else {
                return Ok(Got::Complete(Answer { body, date }));
            };
            if body.len() + chunk.len() > limit {
                return Ok(Got::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
    }
}

/// Whether the key may be sent to this URL: to the API's own host or a subdomain of it.
fn gets_key(base: &Url, url: &Url) -> bool {
    if url.origin() == base.origin() {
        return true;
    }
    match (base.host(), url.host()) {
        (Some(Host::Domain(api)), Some(Host::Domain(host))) => host
            .strip_suffix(api)
            .is_some_and(|rest| rest.ends_with('.')),
        _ => false,
    }
}

fn header_date(response: &Response) -> Option<Timestamp> {
    let text = response.headers().get(DATE)?.to_str().ok()?;
    http_date(text)
}

fn http_date(text: &str) -> Option<Timestamp> {
    let moment = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(Timestamp::from_millis(
        moment.unix_timestamp().saturating_mul(1000),
    ))
}

/// `Retry-After`: seconds, or a moment that is compared with the answer's own date.
fn retry_after(response: &Response, date: Option<Timestamp>) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(http_date(text)?.since(date?)),
    }
}

/// The URL of an API: over TLS, or on this machine.
pub(crate) fn api_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let fits = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    fits.then_some(url)
}

#[cfg(test)]
mod tests;
