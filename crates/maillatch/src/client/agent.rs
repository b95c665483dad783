//! An agent: it opens attempts, lists, waits and consumes.

use std::time::Duration;

use anyhow::Result;
use pipeline::InboxId;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::answer::{Consumption, Disclosed, Disclosure, Page};
use super::attempt::{Attempt, Ended, Resent, Taken};
use super::call::{self, Answer, CallError};
use super::problem::{Problem, failure};

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
            Some("superseded") => Ok(Consumption::Superseded),
            Some("expired") => Ok(Consumption::Expired),
            Some("not-found") => Ok(Consumption::Gone),
            Some("idempotency-key-reused") => Ok(Consumption::KeyReused),
            _ => Err(failure(&answer)),
        }
    }

    /// Opens an attempt; `wish` has the fields of `POST /v1/attempts`.
    pub async fn open_attempt(&self, wish: &Value) -> Result<Attempt, CallError> {
        let request = self.http.post(self.path(&["attempts"])).json(wish);
        self.attempt_in(request).await
    }

    /// How an attempt stands. With a `wait` the server answers when that
    /// changes, or after that many whole seconds.
    pub async fn attempt(&self, id: &str, wait: Duration) -> Result<Attempt, CallError> {
        let mut url = self.path(&["attempts", id]);
        if !wait.is_zero() {
            let seconds = wait.as_secs().max(1).to_string();
            url.query_pairs_mut().append_pair("wait", &seconds);
        }
        self.attempt_in(self.http.get(url)).await
    }

    /// Waits for an attempt's artifact and consumes it. When the answer is lost,
    /// the same call with the same key gets it again.
    pub async fn consume_attempt(
        &self,
        id: &str,
        idempotency_key: &str,
        wait: Duration,
    ) -> Result<Taken, CallError> {
        let request = self
            .http
            .post(self.path(&["attempts", id, "consume"]))
            .header("Idempotency-Key", idempotency_key)
            .json(&json!({ "wait": wait.as_secs() }));
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status == StatusCode::OK {
            return Taken::read(&answer.body).map_err(CallError::Odd);
        }
        let problem = Problem::read(&answer.body);
        match problem.slug() {
            Some("already-consumed") => Ok(Taken::Already {
                consumed_at: problem.consumed_at,
            }),
            _ => Err(failure(&answer)),
        }
    }

    /// Asks whether the sender may be asked for another mail.
    pub async fn resend(&self, id: &str, idempotency_key: &str) -> Result<Resent, CallError> {
        #[derive(Deserialize)]
        struct Grant {
            resends_left: u32,
        }
        let request = self
            .http
            .post(self.path(&["attempts", id, "resend"]))
            .header("Idempotency-Key", idempotency_key);
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status == StatusCode::OK {
            let grant: Grant = serde_json::from_slice(&answer.body).map_err(CallError::Odd)?;
            return Ok(Resent::Granted {
                left: grant.resends_left,
            });
        }
        match Problem::read(&answer.body).slug() {
            Some("resends-spent") => Ok(Resent::Spent),
            Some("attempt-over") => Ok(Resent::Over),
            _ => Err(failure(&answer)),
        }
    }

    /// Says how an attempt ended.
    pub async fn finish_attempt(&self, id: &str, outcome: &str) -> Result<Ended, CallError> {
        let request = self
            .http
            .post(self.path(&["attempts", id, "finish"]))
            .json(&json!({ "outcome": outcome }));
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status.is_success() {
            return Ok(Ended::Finished(Box::new(attempt(&answer)?)));
        }
        match Problem::read(&answer.body).slug() {
            Some("attempt-over") => Ok(Ended::Otherwise),
            _ => Err(failure(&answer)),
        }
    }

    async fn attempt_in(&self, request: RequestBuilder) -> Result<Attempt, CallError> {
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status.is_success() {
            return attempt(&answer);
        }
        Err(failure(&answer))
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

fn attempt(answer: &Answer) -> Result<Attempt, CallError> {
    let told = serde_json::from_slice(&answer.body).map_err(CallError::Odd)?;
    Attempt::read(told).map_err(CallError::Odd)
}
