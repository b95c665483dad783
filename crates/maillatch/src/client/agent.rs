//! An agent: it lists, waits and consumes.

use std::time::Duration;

use anyhow::Result;
use pipeline::InboxId;
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::answer::{Consumption, Disclosed, Disclosure, Page, Problem};
use super::call::{self, Answer, CallError};

/// Where the server is, and what to show it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The server's address, without `/v1`.
    pub url: Url,
    /// The agent's key.
    pub key: SecretString,
}

/// An agent's side of the feed.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    key: SecretString,
}

impl Client {
    /// An agent of the server at `connection`; nothing is sent yet.
    pub fn new(connection: Connection) -> Result<Self> {
        Ok(Self {
            http: call::http(&connection.url)?,
            base: call::below(&connection.url, &["v1"])?,
            key: connection.key,
        })
    }

    /// The items of an inbox after a cursor. With a `wait` the server answers
    /// when there is an item, or empty after that many whole seconds.
    pub async fn list(
        &self,
        inbox: &InboxId,
        after: Option<&str>,
        wait: Duration,
    ) -> Result<Page, CallError> {
        let mut url = self.path(&["inboxes", inbox.as_str(), "artifacts"]);
        if let Some(cursor) = after {
            url.query_pairs_mut().append_pair("after", cursor);
        }
        if !wait.is_zero() {
            let seconds = wait.as_secs().max(1).to_string();
            url.query_pairs_mut().append_pair("wait", &seconds);
        }
        let answer = call::send(self.http.get(url).bearer_auth(self.key.expose_secret())).await?;
        if answer.status == StatusCode::OK {
            return serde_json::from_slice(&answer.body).map_err(CallError::Odd);
        }
        Err(failure(&answer))
    }

    /// Consumes an artifact. When the answer is lost, the same call with the
    /// same key gets it again.
    pub async fn consume(
        &self,
        artifact: &str,
        idempotency_key: &str,
    ) -> Result<Consumption, CallError> {
        let request = self
            .http
            .post(self.path(&["artifacts", artifact, "consume"]))
            .bearer_auth(self.key.expose_secret())
            .header("Idempotency-Key", idempotency_key);
        let answer = call::send(request).await?;
        if answer.status == StatusCode::OK {
            return disclosed(&answer).map(Consumption::Disclosed);
        }
        let problem = Problem::read(&answer.body);
        match problem.slug() {
            Some("already-consumed") => Ok(Consumption::Already {
                at: problem.consumed_at,
            }),
            Some("withheld") => Ok(Consumption::Withheld {
                reason: problem.reason,
            }),
            Some("expired") => Ok(Consumption::Expired),
            Some("idempotency-key-reused") => Ok(Consumption::KeyReused),
            _ => Err(failure(&answer)),
        }
    }

    fn path(&self, segments: &[&str]) -> Url {
        // The base was checked to take segments when this client was built.
        call::below(&self.base, segments).unwrap_or_else(|_| self.base.clone())
    }
}

fn disclosed(answer: &Answer) -> Result<Disclosed, CallError> {
    let Disclosure {
        id,
        kind,
        value,
        consumed_at,
    } = serde_json::from_slice(&answer.body).map_err(CallError::Odd)?;
    Ok(Disclosed {
        id,
        kind,
        value,
        consumed_at,
        is_replay: answer.is_replay,
    })
}

fn failure(answer: &Answer) -> CallError {
    match answer.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => CallError::Unauthenticated,
        StatusCode::NOT_FOUND => CallError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => CallError::Busy,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            CallError::Unavailable
        }
        status => CallError::Refused {
            status: status.as_u16(),
            problem: Problem::read(&answer.body).slug().map(str::to_owned),
        },
    }
}
