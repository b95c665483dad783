//! A sender: it posts mail to a webhook, signed as Standard Webhooks has it.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pipeline::{Clock, InboxId, SystemClock, Timestamp};
use providers::Post;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::call::{self, CallError};
use super::problem::Problem;

/// One delivery as its sender keeps it: the id is the same on every try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// What the receiver deduplicates by.
    pub id: String,
    /// What the body is.
    pub content_type: &'static str,
    /// What is signed and sent.
    pub body: Vec<u8>,
}

impl Delivery {
    /// Wraps a raw mail in Maillatch's own payload, under a new id.
    pub fn of_mail(mail: &[u8], recipients: &[InboxId]) -> Self {
        let payload = json!({
            "type": "email.received",
            "timestamp": SystemClock.now(),
            "data": { "recipients": recipients, "raw": STANDARD.encode(mail) },
        });
        Self {
            id: format!("msg_{}", uuid::Uuid::now_v7().simple()),
            content_type: "application/json",
            body: payload.to_string().into_bytes(),
        }
    }

    /// A raw mail as a mail server's pipe hands it over: the envelope's
    /// recipients on lines of their own, then the message as it is. The same
    /// mail again is the same delivery, since the mail server may try again
    /// after an answer that it did not get.
    pub fn of_pipe(mail: &[u8], recipients: &[InboxId]) -> Self {
        let mut body = Vec::with_capacity(mail.len() + 64);
        for recipient in recipients {
            body.extend_from_slice(format!("X-Maillatch-Recipient: {recipient}\r\n").as_bytes());
        }
        body.extend_from_slice(mail);
        let digest = pipeline::ContentDigest::of(&[&body]);
        let id = URL_SAFE_NO_PAD.encode(digest.as_bytes());
        Self {
            id: format!("pipe_{id}"),
            content_type: "message/rfc822",
            body,
        }
    }
}

/// A delivery with its signature; whoever changes it has forged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPost {
    /// The `webhook-id` header.
    pub id: String,
    /// The `webhook-timestamp` header.
    pub timestamp: String,
    /// The `webhook-signature` header.
    pub signature: String,
    /// The `content-type` header.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// What the webhook answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The HTTP status; a 2xx means that the mail is in a committed row.
    pub http: u16,
    /// `accepted` or `duplicate`.
    pub status: Option<String>,
    /// The delivery's id at the receiver.
    pub delivery: Option<String>,
    /// The last part of the problem's type, when it was refused.
    pub problem: Option<String>,
}

/// The body of an accepted post.
#[derive(Deserialize)]
struct Accepted {
    status: String,
    delivery: String,
}

/// A source's webhook and the secret that signs for it.
#[derive(Debug, Clone)]
pub struct Hook {
    http: reqwest::Client,
    url: Url,
    secret: SecretString,
}

impl Hook {
    /// The webhook of a source of the server at `base`.
    pub fn new(base: &Url, source: &str, secret: SecretString) -> Result<Self> {
        Ok(Self {
            http: call::http(base)?,
            url: call::below(base, &["hooks", source])?,
            secret,
        })
    }

    /// Signs a delivery for a post at this moment.
    pub fn sign(&self, delivery: &Delivery) -> Result<SignedPost> {
        self.sign_at(delivery, SystemClock.now())
    }

    fn sign_at(&self, delivery: &Delivery, at: Timestamp) -> Result<SignedPost> {
        let signature = providers::sign(&self.secret, &delivery.id, at, &delivery.body)
            .context("the signing secret cannot be used")?;
        Ok(SignedPost {
            id: delivery.id.clone(),
            timestamp: at.as_seconds().to_string(),
            signature,
            content_type: delivery.content_type,
            body: delivery.body.clone(),
        })
    }

    /// Posts what was signed, or forged.
    pub async fn post(&self, post: &SignedPost) -> Result<Posted, CallError> {
        let request = self
            .http
            .post(self.url.clone())
            .header("Content-Type", post.content_type)
            .header("webhook-id", &post.id)
            .header("webhook-timestamp", &post.timestamp)
            .header("webhook-signature", &post.signature)
            .body(post.body.clone());
        posted(request).await
    }

    /// Signs a delivery and posts it: one try of a sender.
    pub async fn post_signed(&self, delivery: &Delivery) -> Result<Posted> {
        let signed = self.sign(delivery)?;
        Ok(self.post(&signed).await?)
    }
}

/// Sends a post of any provider's shape to the webhook of a source.
pub(crate) async fn send(base: &Url, source: &str, post: Post) -> Result<Posted> {
    let mut url = call::below(base, &["hooks", source])?;
    url.set_query(post.query.as_deref());
    let mut request = call::http(base)?.post(url).body(post.body);
    for (name, value) in post.headers {
        request = request.header(name, value);
    }
    Ok(posted(request).await?)
}

/// Sends a post and reads what the webhook says to it.
async fn posted(request: RequestBuilder) -> Result<Posted, CallError> {
    let answer = call::send(request).await?;
    let accepted: Option<Accepted> = match answer.status {
        StatusCode::OK => Some(serde_json::from_slice(&answer.body).map_err(CallError::Odd)?),
        _ => None,
    };
    let (status, delivery) = accepted.map(|a| (a.status, a.delivery)).unzip();
    Ok(Posted {
        http: answer.status.as_u16(),
        status,
        delivery,
        problem: Problem::read(&answer.body).slug().map(str::to_owned),
    })
}
