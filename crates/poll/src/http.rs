//! Asking a source's API: only its own hosts, within bounds of size, and with
//! the key shown to the API alone.

use std::time::Duration;

use pipeline::Timestamp;
use providers::is_within;
use reqwest::header::{ACCEPT, DATE, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use url::{Host, Url};

use crate::pull::PullError;

/// Redirects that are followed for one answer.
const MOST_HOPS: usize = 4;
/// The least that a list may take, however small messages must be.
const LIST_LIMIT: usize = 4 * 1024 * 1024;

/// How the key is shown.
#[derive(Debug, Clone)]
pub(crate) enum Auth {
    /// `Authorization: Bearer`.
    Bearer(SecretString),
    /// Basic authentication.
    Basic(&'static str, SecretString),
    /// Headers of the API's own.
    Headers(Vec<(HeaderName, SecretString)>),
}

/// An answer that was had whole.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What it holds.
    pub(crate) body: Vec<u8>,
    /// When the source gave it, by its own clock.
    pub(crate) date: Option<Timestamp>,
}

impl Answer {
    /// The answer as JSON.
    pub(crate) fn json(&self) -> Result<Value, PullError> {
        serde_json::from_slice(&self.body)
            .ok()
            .ok_or(PullError::Odd)
    }
}

/// What came of asking for one thing.
#[derive(Debug)]
pub(crate) enum Got {
    /// It is here.
    Whole(Answer),
    /// It is not there any more.
    Gone,
    /// It is longer than what we take.
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
        // Redirects are followed by hand, each one judged.
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

    /// A place below the API, each segment escaped.
    pub(crate) fn place(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Url, PullError> {
        let mut url = self.base.clone();
        if segments.iter().any(|one| matches!(*one, "" | "." | "..")) {
            return Err(PullError::Odd);
        }
        url.path_segments_mut()
            .ok()
            .ok_or(PullError::Odd)?
            .pop_if_empty()
            .extend(segments);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The API's own place.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// A list, as JSON.
    pub(crate) async fn list(&self, url: Url) -> Result<(Value, Option<Timestamp>), PullError> {
        let limit = LIST_LIMIT.max(self.message_limit.saturating_mul(2));
        match self.get(url, "application/json", limit).await? {
            Got::Whole(answer) => Ok((answer.json()?, answer.date)),
            Got::Gone | Got::TooLarge => Err(PullError::Odd),
        }
    }

    /// One mail, or what describes it. Twice the limit: JSON and base64 are
    /// longer than the message within.
    pub(crate) async fn mail(&self, url: Url, accept: &'static str) -> Result<Got, PullError> {
        self.get(url, accept, self.message_limit.saturating_mul(2))
            .await
    }

    /// Whether a message is longer than what we take.
    pub(crate) fn is_too_large(&self, message: &[u8]) -> bool {
        message.len() > self.message_limit
    }

    async fn get(&self, mut url: Url, accept: &str, limit: usize) -> Result<Got, PullError> {
        for _ in 0..MOST_HOPS {
            if !is_within(&self.base, &url) {
                return Err(PullError::LeadsAway);
            }
            let request = self.client.get(url.clone()).header(ACCEPT, accept);
            let request = if is_ours(&self.base, &url) {
                self.shown(request)
            } else {
                request
            };
            let response = request.send().await.ok().ok_or(PullError::Away)?;
            if !response.status().is_redirection() {
                return self.read(response, limit, is_ours(&self.base, &url)).await;
            }
            let next = response.headers().get(LOCATION);
            let next = next.and_then(|to| to.to_str().ok());
            let next = next.and_then(|to| url.join(to).ok());
            url = next.ok_or(PullError::Odd)?;
        }
        Err(PullError::Odd)
    }

    fn shown(&self, request: RequestBuilder) -> RequestBuilder {
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
        is_ours: bool,
    ) -> Result<Got, PullError> {
        let date = header_date(&response);
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if is_ours => {
                return Err(PullError::Unauthorised);
            }
            // A link beside the API that refuses has merely expired.
            StatusCode::NOT_FOUND
            | StatusCode::GONE
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN => return Ok(Got::Gone),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(PullError::Busy(retry_after(&response, date)));
            }
            status if status.is_server_error() => return Err(PullError::Away),
            _ => return Err(PullError::Odd),
        }
        let mut body = Vec::new();
        loop {
            let chunk = response.chunk().await.ok().ok_or(PullError::Away)?;
            let Some(chunk) = chunk else {
                return Ok(Got::Whole(Answer { body, date }));
            };
            if body.len() + chunk.len() > limit {
                return Ok(Got::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
    }
}

/// Whether the key may be shown there: to the API's own host, or one below it.
fn is_ours(base: &Url, url: &Url) -> bool {
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

/// Seconds, or a moment that is compared with the answer's own date.
fn retry_after(response: &Response, date: Option<Timestamp>) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(http_date(text)?.since(date?)),
    }
}

/// A URL that an API may be at: over TLS, or on this machine.
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
