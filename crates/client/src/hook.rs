//! A sender that posts mail to a webhook, signed by Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pipeline::{Clock, InboxId, SystemClock, Timestamp};
use providers::{KeyError, Post};
use reqwest::{RequestBuilder, StatusCode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::call::{self, CallError};
use crate::problem::Problem;
use crate::set_up::SetUpError;

/// One delivery. The id stays the same when the sender retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id that the receiver detects duplicates by.
    pub id: String,
    /// The content type of the body.
    pub content_type: &'static str,
    /// The bytes that are signed and sent.
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

    /// A raw mail as a mail server pipes it: one line for each envelope recipient,
    /// then the unchanged message. The same mail has the same id, because a mail
    /// server that missed the answer retries.
    pub fn of_pipe(mail: &[u8], recipients: &[InboxId]) -> Self {
        let recipients: Vec<String> = recipients.iter().map(ToString::to_string).collect();
        let body = providers::addressed_message(&recipients, mail);
        let digest = pipeline::ContentDigest::of(&[&body]);
        let id = URL_SAFE_NO_PAD.encode(digest.as_bytes());
        Self {
            id: format!("pipe_{id}"),
            content_type: "message/rfc822",
            body,
        }
    }
}

/// A delivery with its signature. Any change makes it a forgery.
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

/// The webhook's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The HTTP status; 2xx means that the mail is in a committed row.
    pub http: u16,
    /// `accepted` or `duplicate`.
    pub status: Option<String>,
    /// The delivery's id at the receiver.
    pub delivery: Option<String>,
    /// The last part of the problem's type, if the post was refused.
    pub problem: Option<String>,
    /// The server's time, as its `Date` header says it.
    pub date: Option<String>,
}

/// The body of an accepted post.
#[derive(Deserialize)]
struct Accepted {
    status: String,
    delivery: String,
}

/// Why a post was not made, or has no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The client cannot be built.
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    /// The secret cannot sign.
    #[error("the signing secret cannot be used")]
    Secret(#[from] KeyError),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
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
    pub fn new(base: &Url, source: &str, secret: SecretString) -> Result<Self, SetUpError> {
        Ok(Self {
            http: call::http(base, call::Proxy::OfEnvironment)?,
            url: call::below(base, &["hooks", source])?,
            secret,
        })
    }

    /// The path that posts go to.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Signs a delivery with the current time.
    pub fn sign(&self, delivery: &Delivery) -> Result<SignedPost, KeyError> {
        self.sign_at(delivery, SystemClock.now())
    }

    fn sign_at(&self, delivery: &Delivery, at: Timestamp) -> Result<SignedPost, KeyError> {
        let signature = providers::sign(&self.secret, &delivery.id, at, &delivery.body)?;
        Ok(SignedPost {
            id: delivery.id.clone(),
            timestamp: at.as_seconds().to_string(),
            signature,
            content_type: delivery.content_type,
            body: delivery.body.clone(),
        })
    }

    /// Posts a signed or forged delivery.
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

    /// Signs a delivery and posts it once.
    pub async fn post_signed(&self, delivery: &Delivery) -> Result<Posted, PostError> {
        let signed = self.sign(delivery)?;
        Ok(self.post(&signed).await?)
    }
}

/// Sends a post in any provider's form to the webhook of a source.
pub async fn send(base: &Url, source: &str, post: Post) -> Result<Posted, PostError> {
    let mut url = call::below(base, &["hooks", source])?;
    url.set_query(post.query.as_deref());
    let mut request = call::http(base, call::Proxy::OfEnvironment)?
        .post(url)
        .body(post.body);
    for (name, value) in post.headers {
        request = request.header(name, value);
    }
    Ok(posted(request).await?)
}

/// Sends a post and parses the webhook's answer.
async fn posted(request: RequestBuilder) -> Result<Posted, CallError> {
    let answer = call::send(request).await?;
    let accepted: Option<Accepted> = match answer.status {
        StatusCode::OK => {
            Some(serde_json::from_slice(&answer.body).map_err(CallError::Unreadable)?)
        }
        _ => None,
    };
    let (status, delivery) = accepted.map(|a| (a.status, a.delivery)).unzip();
    Ok(Posted {
        http: answer.status.as_u16(),
        status,
        delivery,
        date: answer.date,
        problem: Problem::read(&answer.body).slug().map(str::to_owned),
    })
}
