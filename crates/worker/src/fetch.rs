//! Getting a mail that its webhook did not carry, from the provider's API and
//! from nowhere else. Links found in mail are never fetched; the only links
//! followed here are those the provider's own API answers with, within its hosts.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use pipeline::{Class, Reason};
use providers::{Api, Elsewhere, Holds, is_within};
use reqwest::header::LOCATION;
use reqwest::{Client, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Redirects and links that are followed for one mail.
const MOST_HOPS: usize = 4;

/// A mail could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// The API is away, overloaded, or has not got the mail yet.
    #[error("the provider's API is unavailable")]
    Unavailable,
    /// The key is not accepted; an operator can mend that while we retry.
    #[error("the provider's API does not accept the key")]
    Unauthorised,
    /// The answer is not what the contract says.
    #[error("the provider's API answers with something else")]
    Odd,
    /// The mail is longer than any we take.
    #[error("the message is too large")]
    TooLarge,
    /// It leads away from the provider.
    #[error("the provider's API leads elsewhere")]
    LeadsAway,
}

impl FetchError {
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Unavailable | Self::Unauthorised => Class::Transient,
            Self::Odd | Self::TooLarge | Self::LeadsAway => Class::Permanent,
        }
    }

    pub(crate) fn reason(self) -> Reason {
        Reason::new(match self {
            Self::Unavailable => "fetch_unavailable",
            Self::Unauthorised => "fetch_unauthorised",
            Self::Odd => "fetch_odd",
            Self::TooLarge => "too_large",
            Self::LeadsAway => "fetch_leads_away",
        })
    }
}

/// No client could be built.
#[derive(Debug, thiserror::Error)]
#[error("failed to build the client for providers' APIs")]
pub struct FetcherError(#[from] reqwest::Error);

/// Gets mail from providers' APIs.
pub struct Fetcher {
    client: Client,
    budget: Duration,
    most_bytes: usize,
}

impl Fetcher {
    /// One that takes at most `budget` and `most_bytes` for one mail.
    pub fn new(budget: Duration, most_bytes: usize) -> Result<Self, FetcherError> {
        // Redirects are followed by hand, each one judged.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .build()?;
        Ok(Self {
            client,
            budget,
            most_bytes,
        })
    }

    /// The raw message.
    pub(crate) async fn fetch(&self, api: &Api, mail: &Elsewhere) -> Result<Vec<u8>, FetchError> {
        let fetching = self.message(api, mail);
        match tokio::time::timeout(self.budget, fetching).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(FetchError::Unavailable),
        }
    }

    async fn message(&self, api: &Api, mail: &Elsewhere) -> Result<Vec<u8>, FetchError> {
        let base = Url::parse(&api.url).ok().ok_or(FetchError::Odd)?;
        let found = self.get(&base, place(&base, mail)?, &api.key).await?;
        match mail.holds {
            Holds::Message => Ok(found),
            Holds::Base64Url(keys) => {
                let text = text_at(&found, keys)?;
                let decoded = URL_SAFE_NO_PAD
                    .decode(&text)
                    .or_else(|_| URL_SAFE.decode(&text));
                decoded.ok().ok_or(FetchError::Odd)
            }
            Holds::Link(keys) => {
                let link = Url::parse(&text_at(&found, keys)?)
                    .ok()
                    .ok_or(FetchError::Odd)?;
                self.get(&base, link, &api.key).await
            }
        }
    }

    /// Gets a URL within the provider's hosts; the key goes to the API's own
    /// host alone.
    async fn get(
        &self,
        base: &Url,
        mut url: Url,
        key: &SecretString,
    ) -> Result<Vec<u8>, FetchError> {
        for _ in 0..MOST_HOPS {
            if !is_within(base, &url) {
                return Err(FetchError::LeadsAway);
            }
            let mut request = self.client.get(url.clone());
            if url.origin() == base.origin() {
                request = request.bearer_auth(key.expose_secret());
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
                .ok_or(FetchError::Odd)?;
        }
        Err(FetchError::Odd)
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, FetchError> {
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(FetchError::Unauthorised);
            }
            // The webhook may be quicker than the API behind it.
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

/// The mail's place below the API, each segment escaped.
fn place(base: &Url, mail: &Elsewhere) -> Result<Url, FetchError> {
    let mut url = base.clone();
    if mail
        .path
        .iter()
        .any(|segment| matches!(segment.as_str(), "" | "." | ".."))
    {
        return Err(FetchError::Odd);
    }
    url.path_segments_mut()
        .ok()
        .ok_or(FetchError::Odd)?
        .pop_if_empty()
        .extend(&mail.path);
    if let Some((name, value)) = mail.query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

fn text_at(json: &[u8], keys: &[&str]) -> Result<String, FetchError> {
    let json: serde_json::Value = serde_json::from_slice(json).ok().ok_or(FetchError::Odd)?;
    let found = keys.iter().try_fold(&json, |value, key| value.get(key));
    let text = found.and_then(serde_json::Value::as_str);
    text.map(str::to_owned).ok_or(FetchError::Odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_a_payload_cannot_leave_their_segment() {
        let base = Url::parse("https://api.provider.test").unwrap();
        let mail = |id: &str| Elsewhere {
            recipients: Vec::new(),
            path: vec!["mails".to_owned(), id.to_owned()],
            query: None,
            holds: Holds::Message,
        };
        let url = place(&base, &mail("../keys?x#y")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://api.provider.test/mails/..%2Fkeys%3Fx%23y"
        );
        assert_eq!(place(&base, &mail("..")), Err(FetchError::Odd));
    }
}
