//! An agent's client: it opens attempts, lists, waits and consumes.

use std::time::Duration;

use pipeline::InboxId;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::answer::{Consumption, Disclosed, Disclosure, Page};
use crate::attempt::{Attempt, AttemptConsumption, FinishAnswer, ResendAnswer};
use crate::call::{self, Answer, CallError};
use crate::problem::{Problem, failure};
use crate::set_up::SetUpError;

/// The server's URL and the agent's key.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The server's address, without `/v1`.
    pub url: Url,
    /// The agent's key.
    pub key: SecretString,
}

/// An agent's client.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    base: Url,
    pub(crate) key: SecretString,
}

impl Client {
    /// A client of the server at `connection`; nothing is sent yet.
    pub fn new(connection: Connection) -> Result<Self, SetUpError> {
        Self::with_proxy(connection, call::Proxy::OfEnvironment)
    }

    /// A client of a server in this process. It uses no proxy, whatever the environment
    /// says: a proxy would get the keys, and may not reach the address.
    pub fn of_own_server(connection: Connection) -> Result<Self, SetUpError> {
        Self::with_proxy(connection, call::Proxy::None)
    }

    fn with_proxy(connection: Connection, proxy: call::Proxy) -> Result<Self, SetUpError> {
        Ok(Self {
            http: call::http(&connection.url, proxy)?,
            base: call::below(&connection.url, &["v1"])?,
            key: connection.key,
        })
    }

    /// The same client for another agent; both share their connections.
    #[must_use]
    pub fn with_key(&self, key: SecretString) -> Self {
        Self {
            key,
            ..self.clone()
        }
    }

    /// The items of an inbox after a cursor. With a `wait` the server answers when there is
    /// an item, or with an empty page after that many whole seconds.
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
            return serde_json::from_slice(&answer.body).map_err(CallError::Unreadable);
        }
        Err(failure(&answer))
    }

    /// Consumes an artifact. When the answer is lost, the same call with the same key
    /// returns it again.
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

    /// Opens an attempt; `body` has the fields of `POST /v1/attempts`.
    pub async fn open_attempt(&self, body: &Value) -> Result<Attempt, CallError> {
        let request = self.http.post(self.path(&["attempts"])).json(body);
        self.attempt_in(request).await
    }

    /// The state of an attempt. With a `wait` the server answers when the state
    /// changes, or after that many whole seconds.
    pub async fn attempt(&self, id: &str, wait: Duration) -> Result<Attempt, CallError> {
        let mut url = self.path(&["attempts", id]);
        if !wait.is_zero() {
            let seconds = wait.as_secs().max(1).to_string();
            url.query_pairs_mut().append_pair("wait", &seconds);
        }
        self.attempt_in(self.http.get(url)).await
    }

    /// Waits for an attempt's artifact and consumes it. When the answer is lost, the
    /// same call with the same key returns it again.
    pub async fn consume_attempt(
        &self,
        id: &str,
        idempotency_key: &str,
        wait: Duration,
    ) -> Result<AttemptConsumption, CallError> {
        let request = self
            .http
            .post(self.path(&["attempts", id, "consume"]))
            .header("Idempotency-Key", idempotency_key)
            .json(&json!({ "wait": wait.as_secs() }));
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status == StatusCode::OK {
            return AttemptConsumption::read(&answer.body).map_err(CallError::Unreadable);
        }
        let problem = Problem::read(&answer.body);
        match problem.slug() {
            Some("already-consumed") => Ok(AttemptConsumption::Already {
                consumed_at: problem.consumed_at,
            }),
            _ => Err(failure(&answer)),
        }
    }

    /// Asks the server for permission to request another mail from the sender.
    pub async fn resend(&self, id: &str, idempotency_key: &str) -> Result<ResendAnswer, CallError> {
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
            let grant: Grant =
                serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)?;
            return Ok(ResendAnswer::Granted {
                left: grant.resends_left,
            });
        }
        match Problem::read(&answer.body).slug() {
            Some("resends-spent") => Ok(ResendAnswer::Spent),
            Some("attempt-over") => Ok(ResendAnswer::Over),
            _ => Err(failure(&answer)),
        }
    }

    /// Finishes an attempt.
    pub async fn finish_attempt(&self, id: &str, outcome: &str) -> Result<FinishAnswer, CallError> {
        let request = self
            .http
            .post(self.path(&["attempts", id, "finish"]))
            .json(&json!({ "outcome": outcome }));
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        if answer.status.is_success() {
            return Ok(FinishAnswer::Finished(Box::new(attempt(&answer)?)));
        }
        match Problem::read(&answer.body).slug() {
            Some("attempt-over") => Ok(FinishAnswer::OtherOutcome),
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

    pub(crate) fn path(&self, segments: &[&str]) -> Url {
        // `new` has checked that the base accepts path segments.
        call::below(&self.base, segments).unwrap_or_else(|_| self.base.clone())
    }
}

fn disclosed(answer: &Answer) -> Result<Disclosed, CallError> {
    let Disclosure {
        id,
        kind,
        value,
        sender_verified,
        sender_proof,
        consumed_at,
    } = serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)?;
    Ok(Disclosed {
        id,
        kind,
        value,
        sender_verified,
        sender_proof,
        consumed_at,
        is_replay: answer.is_replay,
    })
}

fn attempt(answer: &Answer) -> Result<Attempt, CallError> {
    let body = serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)?;
    Attempt::read(body).map_err(CallError::Unreadable)
}
