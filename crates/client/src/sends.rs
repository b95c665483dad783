//! The calls and answers of sends and replies.

use std::time::Duration;

use reqwest::{RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;

use crate::agent::Client;
use crate::call::{self, Answer, CallError};
use crate::problem::{Problem, failure};

/// The senders and templates that a key may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SenderList {
    /// The senders; none if none is configured.
    pub items: Vec<OfferedSender>,
    /// Which of `send` and `reply` the key has.
    pub scopes: Vec<String>,
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OfferedSender {
    /// Its name.
    pub name: String,
    /// Its templates.
    pub templates: Vec<OfferedTemplate>,
}

/// A template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OfferedTemplate {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<OfferedValue>,
}

/// A value of a template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OfferedValue {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What a `choice` may be.
    #[serde(default)]
    pub choices: Vec<String>,
}

/// The answer to a request for a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAnswer {
    /// The mail is recorded. The body has `id`, `state` and `next`.
    Recorded(Value),
    /// The mail was asked for before; this is its send. The body is the same.
    Known(Value),
    /// The intent was used for another mail, or the state does not allow it. The body has
    /// `id` and `state`.
    IntentUsed(Value),
    /// The operator does not allow mail to this address.
    RecipientNotAllowed,
    /// The message is not answered; with the reason.
    NotAnswered(Option<String>),
    /// A person answers in this thread now.
    HandedOver,
    /// A cap is reached; with its name.
    Capped(Option<String>),
}

impl Client {
    /// The senders and templates of this key.
    pub async fn senders(&self) -> Result<SenderList, CallError> {
        let answer = self.ask(self.http.get(self.path(&["senders"]))).await?;
        match answer.status {
            StatusCode::OK => read(&answer),
            _ => Err(failure(&answer)),
        }
    }

    /// Sends a mail, once for its intent; `body` has the fields of `POST /v1/sends`. When
    /// the answer is lost, the same call finds the send.
    pub async fn send_mail(&self, body: &Value) -> Result<SendAnswer, CallError> {
        let request = self.http.post(self.path(&["sends"])).json(body);
        send_answer(&self.ask(request).await?)
    }

    /// Answers a message, at most once; `body` has the fields of
    /// `POST /v1/messages/{id}/replies`.
    pub async fn reply(&self, message: &str, body: &Value) -> Result<SendAnswer, CallError> {
        let path = self.path(&["messages", message, "replies"]);
        send_answer(&self.ask(self.http.post(path).json(body)).await?)
    }

    /// The state of a send, when it is known or after `wait`.
    pub async fn send_state(&self, id: &str, wait: Duration) -> Result<Value, CallError> {
        let mut path = self.path(&["sends", id]);
        path.query_pairs_mut()
            .append_pair("wait", &wait.as_secs().to_string());
        let answer = self.ask(self.http.get(path)).await?;
        match answer.status {
            StatusCode::OK => read(&answer),
            _ => Err(failure(&answer)),
        }
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Answer, CallError> {
        call::send(request.bearer_auth(self.key.expose_secret())).await
    }
}

fn send_answer(answer: &Answer) -> Result<SendAnswer, CallError> {
    match answer.status {
        StatusCode::CREATED => return Ok(SendAnswer::Recorded(read(answer)?)),
        StatusCode::OK => return Ok(SendAnswer::Known(read(answer)?)),
        _ => {}
    }
    let problem = Problem::read(&answer.body);
    match problem.slug() {
        Some("intent-used") => Ok(SendAnswer::IntentUsed(read(answer)?)),
        Some("recipient-not-allowed") => Ok(SendAnswer::RecipientNotAllowed),
        Some("no-reply") => Ok(SendAnswer::NotAnswered(problem.reason)),
        Some("thread-handed-over") => Ok(SendAnswer::HandedOver),
        Some("send-cap") => Ok(SendAnswer::Capped(problem.reason)),
        _ => Err(failure(answer)),
    }
}

fn read<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, CallError> {
    serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)
}
