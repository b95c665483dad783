//! The calls and answers of guards.

use reqwest::StatusCode;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::agent::Client;
use crate::call::{self, Answer, CallError};
use crate::problem::{Problem, failure};

/// The answer to a claim. Each has the server's JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardAnswer {
    /// The caller may act. The body has `id`, `token` and `provider_key`.
    Claimed(Value),
    /// The action is done; the body has its `result`.
    Done(Value),
    /// Another caller may act now.
    InProgress(Value),
    /// It is unknown whether the action was done.
    Uncertain(Value),
    /// The intent was abandoned, or the report came too late.
    Over(Value),
}

impl Client {
    /// Claims an intent; `body` has the fields of `POST /v1/guards`. When the answer is
    /// lost, the same call with the same key returns it again.
    pub async fn claim_guard(
        &self,
        body: &Value,
        idempotency_key: Option<&str>,
    ) -> Result<GuardAnswer, CallError> {
        let mut request = self.http.post(self.path(&["guards"])).json(body);
        if let Some(key) = idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        match answer.status {
            StatusCode::CREATED => Ok(GuardAnswer::Claimed(read(&answer)?)),
            _ => guard_answer(&answer),
        }
    }

    /// Reports that the action is done.
    pub async fn confirm_guard(
        &self,
        id: &str,
        token: &str,
        result: Option<&str>,
    ) -> Result<GuardAnswer, CallError> {
        let mut body = json!({ "token": token });
        if let (Some(result), Some(fields)) = (result, body.as_object_mut()) {
            fields.insert("result".to_owned(), json!(result));
        }
        self.report_guard(id, "confirm", &body).await
    }

    /// Reports that the action was not done.
    pub async fn release_guard(&self, id: &str, token: &str) -> Result<GuardAnswer, CallError> {
        let body = json!({ "token": token, "not_done": true });
        self.report_guard(id, "release", &body).await
    }

    /// The state of a guard.
    pub async fn guard(&self, id: &str) -> Result<Value, CallError> {
        let request = self.http.get(self.path(&["guards", id]));
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        match answer.status {
            StatusCode::OK => read(&answer),
            _ => Err(failure(&answer)),
        }
    }

    async fn report_guard(
        &self,
        id: &str,
        what: &str,
        body: &Value,
    ) -> Result<GuardAnswer, CallError> {
        let request = self.http.post(self.path(&["guards", id, what])).json(body);
        let answer = call::send(request.bearer_auth(self.key.expose_secret())).await?;
        guard_answer(&answer)
    }
}

fn guard_answer(answer: &Answer) -> Result<GuardAnswer, CallError> {
    if answer.status == StatusCode::OK {
        return Ok(GuardAnswer::Done(read(answer)?));
    }
    match Problem::read(&answer.body).slug() {
        Some("in-progress") => Ok(GuardAnswer::InProgress(read(answer)?)),
        Some("uncertain") => Ok(GuardAnswer::Uncertain(read(answer)?)),
        Some("intent-used" | "lease-over" | "stale-token" | "already-done") => {
            Ok(GuardAnswer::Over(read(answer)?))
        }
        _ => Err(failure(answer)),
    }
}

fn read(answer: &Answer) -> Result<Value, CallError> {
    serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)
}
