//! One request over HTTP: one connection, one try, no redirect, a hard timeout.
//!
//! When is it proven that a provider received nothing? Every request has a connection of
//! its own, so an error while that is opened (DNS, TCP, TLS) happens before the first byte
//! of the request. Every other error happens after it, and then it is unknown. A
//! connection that is kept for the next request would blur this: the provider may close
//! it in the moment in which the request is written.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, redirect, retry};
use url::{Host, Url};

use crate::patience::{GRACE, within};
use crate::reach::Reach;

/// The most bytes of an answer that are read. Answers to a send are short.
const LONGEST_ANSWER: usize = 1024 * 1024;
/// The longest wait that a provider may ask for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// How long the provider asks to wait.
    pub(crate) wait: Option<Duration>,
    /// The type of an AWS error, which is in a header.
    pub(crate) error_type: Option<String>,
    /// The id of a mail, which `SendGrid` puts into a header.
    pub(crate) message_id: Option<String>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; `null` if it is none.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The text of a member of the body.
    pub(crate) fn text(&self, member: &str) -> Option<String> {
        self.text_at(&format!("/{member}"))
    }

    /// The text at a place in the body, which is a JSON pointer.
    pub(crate) fn text_at(&self, place: &str) -> Option<String> {
        let value = self.json();
        let text = value.pointer(place)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
impl Answer {
    /// An answer without headers.
    pub(crate) fn of(status: u16, body: &str) -> Self {
        Self {
            status,
            wait: None,
            error_type: None,
            message_id: None,
            body: body.as_bytes().to_vec(),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// No connection was opened: nothing was written.
    NotConnected,
    /// The time was over.
    TimedOut,
    /// The connection broke after it was opened.
    Broken,
}

/// A client that sends each request once.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    timeout: Duration,
}

impl Http {
    /// A client that waits at most this long for a complete answer.
    pub(crate) fn new(timeout: Duration) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(0)
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .build()?;
        Ok(Self { client, timeout })
    }

    /// A `POST` of JSON.
    pub(crate) fn post(&self, url: Url, body: &str) -> RequestBuilder {
        self.post_as("application/json", url, body)
    }

    /// A `POST` of a form.
    pub(crate) fn post_form(&self, url: Url, body: &str) -> RequestBuilder {
        self.post_as("application/x-www-form-urlencoded", url, body)
    }

    fn post_as(&self, kind: &str, url: Url, body: &str) -> RequestBuilder {
        let request = self.client.post(url).header("accept", "application/json");
        request.header("content-type", kind).body(body.to_owned())
    }

    /// A `GET`.
    pub(crate) fn get(&self, url: Url) -> RequestBuilder {
        self.client.get(url).header("accept", "application/json")
    }
}

impl Http {
    /// Sends a request once.
    pub(crate) async fn answer_to(&self, request: RequestBuilder) -> Result<Answer, NoAnswer> {
        let answer = within(self.timeout, complete_answer(request)).await;
        answer.unwrap_or(Err(NoAnswer::TimedOut))
    }

    /// Whether an API answers at all. The request has no key.
    pub(crate) async fn reach(&self, api: &Url) -> Reach {
        match self.answer_to(self.get(api.clone())).await {
            Ok(_) => Reach::Reached,
            Err(_) => Reach::NotReached,
        }
    }

    /// The longest time that a request takes.
    pub(crate) fn longest(&self) -> Duration {
        self.timeout + GRACE
    }
}

async fn complete_answer(request: RequestBuilder) -> Result<Answer, NoAnswer> {
    let mut response = request.send().await.map_err(|error| no_answer(&error))?;
    let headers = response.headers();
    let mut answer = Answer {
        status: response.status().as_u16(),
        wait: wait(headers),
        error_type: text_of(headers, "x-amzn-errortype"),
        message_id: text_of(headers, "x-message-id"),
        body: Vec::new(),
    };
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
        if answer.body.len() + chunk.len() > LONGEST_ANSWER {
            return Err(NoAnswer::Broken);
        }
        answer.body.extend_from_slice(&chunk);
    }
    Ok(answer)
}

fn no_answer(error: &reqwest::Error) -> NoAnswer {
    if error.is_connect() {
        NoAnswer::NotConnected
    } else if error.is_timeout() {
        NoAnswer::TimedOut
    } else {
        NoAnswer::Broken
    }
}

/// The text of a header that is not empty.
fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// `Retry-After` in seconds. A moment instead of seconds is left to our own backoff.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let seconds = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

/// The URL of an API: over TLS, or on this machine. Without a query, which is the
/// senders' own.
pub(crate) fn api_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    (is_safe && url.query().is_none() && url.fragment().is_none()).then_some(url)
}

/// A URL below an API's URL, with each segment escaped.
pub(crate) fn below(api: &Url, segments: &[&str]) -> Url {
    let mut url = api.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_urls_must_be_https_or_loopback() {
        for good in [
            "https://api.resend.com",
            "http://127.0.0.1:9",
            "http://localhost/x",
        ] {
            assert!(api_url(good).is_some(), "{good}");
        }
        for bad in [
            "http://api.resend.com",
            "https://x.test/?a=b",
            "ftp://localhost",
            "x",
        ] {
            assert!(api_url(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn segments_below_an_api_url_are_escaped() {
        let api = api_url("https://api.example.test/v0").unwrap();
        let url = below(&api, &["inboxes", "a/../b@x.test", "send"]);
        assert_eq!(url.path(), "/v0/inboxes/a%2F..%2Fb@x.test/send");
    }
}
