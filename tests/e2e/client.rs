//! An HTTP client for a deployment, without using the product's client.

use std::time::Duration;

use anyhow::{Context, Result};
use pipeline::{Clock, Reason, SenderProof, SystemClock};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use maillatch::deployment::{Deployment, Role};

/// An HTTP answer of any status.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    /// The status.
    pub(crate) status: StatusCode,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body as JSON, or as a string when it is not JSON.
    pub(crate) body: Value,
}

/// Sends requests to a deployment. Clones share connections.
#[derive(Clone)]
pub(crate) struct HttpClient(Client);

impl HttpClient {
    /// A new client.
    pub(crate) fn new() -> Result<Self> {
        // The first client of the process installs the TLS provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .timeout(Duration::from_mins(1))
            // The server closes idle connections after five seconds, and a request at
            // that moment would fail.
            .pool_idle_timeout(Duration::from_secs(2))
            .build();
        Ok(Self(client?))
    }

    /// Posts a body, signed now, to one of the webhooks.
    pub(crate) async fn post(
        &self,
        to: &Deployment,
        which: usize,
        id: &str,
        body: &[u8],
    ) -> Result<HttpAnswer> {
        let now = SystemClock.now();
        let signature = providers::sign(&to.signing_secret(), id, now, body)?;
        let url = to.url(Role::Webhook, which)?.join("hooks/dev")?;
        let request = self.0.post(url);
        let request = request
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now.as_seconds())
            .header("webhook-signature", signature)
            .body(body.to_vec());
        answer(request).await
    }

    /// Posts a body with these headers to a URL.
    pub(crate) async fn send(
        &self,
        url: url::Url,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<HttpAnswer> {
        let headers = headers.iter();
        let request = headers.fold(self.0.post(url), |request, (name, value)| {
            request.header(name, value)
        });
        answer(request.body(body.to_vec())).await
    }

    /// Posts to any source, with these headers.
    pub(crate) async fn post_to(
        &self,
        to: &Deployment,
        source: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpAnswer> {
        let url = to.url(Role::Webhook, 0)?.join(&format!("hooks/{source}"))?;
        let mut request = self.0.post(url).body(body.to_vec());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request).await
    }

    /// Every item of an inbox, page after page. A page that is refused as retryable is
    /// asked for again, as an agent does: after an outage a feed may have to connect first.
    pub(crate) async fn items(
        &self,
        to: &Deployment,
        which: usize,
        inbox: &str,
    ) -> Result<Vec<Value>> {
        let deadline = Instant::now() + crate::harness::TIMEOUT;
        let mut items = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("v1/inboxes/{inbox}/artifacts?limit=100{after}");
            let page = self.get(to, Role::Feed, which, &path).await?;
            if page.body["retryable"] == true && Instant::now() < deadline {
                sleep(Duration::from_millis(20)).await;
                continue;
            }
            let got = page.body["items"]
                .as_array()
                .with_context(|| format!("{page:?}"))?;
            let Some(cursor) = page.body["next_cursor"]
                .as_str()
                .filter(|_| !got.is_empty())
            else {
                return Ok(items);
            };
            items.extend(got.iter().cloned());
            after = format!("&after={cursor}");
        }
    }

    /// Waits until an inbox has `count` items, or fails after `timeout`.
    pub(crate) async fn until_items(
        &self,
        to: &Deployment,
        inbox: &str,
        count: usize,
        timeout: Duration,
    ) -> Result<Vec<Value>> {
        let deadline = Instant::now() + timeout;
        loop {
            let items = self.items(to, 0, inbox).await?;
            if items.len() >= count {
                return Ok(items);
            }
            anyhow::ensure!(
                Instant::now() < deadline,
                "{} of {count} items arrived",
                items.len()
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Consumes as one of the two consumers.
    pub(crate) async fn consume(
        &self,
        to: &Deployment,
        consumer: usize,
        artifact: &str,
        key: &str,
    ) -> Result<HttpAnswer> {
        let url = to.url(Role::Feed, consumer)?;
        let url = url.join(&format!("v1/artifacts/{artifact}/consume"))?;
        let request = self.0.post(url);
        let token = to.key(consumer);
        let request = request
            .bearer_auth(token.expose_secret())
            .header("idempotency-key", key);
        answer(request).await
    }

    /// Posts a request of the first consumer to a feed.
    pub(crate) async fn call(
        &self,
        to: &Deployment,
        path: &str,
        key: &str,
        body: &Value,
    ) -> Result<HttpAnswer> {
        let request = self.0.post(to.url(Role::Feed, 0)?.join(path)?);
        let request = request
            .bearer_auth(to.key(0).expose_secret())
            .header("idempotency-key", key)
            .json(body);
        answer(request).await
    }

    /// Gets any path of a role, as the first consumer.
    pub(crate) async fn get(
        &self,
        to: &Deployment,
        role: Role,
        which: usize,
        path: &str,
    ) -> Result<HttpAnswer> {
        let url = to.url(role, which)?.join(path)?;
        let request = self.0.get(url).bearer_auth(to.key(0).expose_secret());
        answer(request).await
    }

    /// Gets a URL without a key.
    pub(crate) async fn get_url(&self, url: url::Url) -> Result<HttpAnswer> {
        answer(self.0.get(url)).await
    }
}

async fn answer(request: RequestBuilder) -> Result<HttpAnswer> {
    let response = request.send().await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    assert_known_words(&body);
    Ok(HttpAnswer {
        status,
        headers,
        body,
    })
}

/// Every reason in an attempt or an item is one that the `OpenAPI` document lists.
fn assert_known_words(body: &Value) {
    let is_known = |word: &Value, list: &[(&str, &str)]| {
        word.is_null() || list.iter().any(|(known, _)| word == known)
    };
    if body["sender_proof"].is_string() || body["resends_left"].is_number() {
        assert!(is_known(&body["reason"], Reason::FOR_AGENTS), "{body}");
        let proof = &body["sender_proof"];
        assert!(is_known(proof, SenderProof::FOR_AGENTS), "{body}");
    }
    let members = body.as_object().into_iter().flatten();
    let items = body.as_array().into_iter().flatten();
    for part in members.map(|(_, member)| member).chain(items) {
        assert_known_words(part);
    }
}
