//! Everything that can go wrong for an agent, as RFC 9457 problems.
//!
//! The list is closed and its sentences are fixed: nothing that a caller or a
//! stranger wrote is ever echoed, for a model reads these answers too.

mod catalogue;
mod unfit;

use actix_web::body::BoxBody;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};
use pipeline::{Permission, Reason, StoreError, Timestamp};
use serde::Serialize;

use crate::reply;

pub(crate) use unfit::Unfit;

/// A refusal or a failure; its `Display` is the fixed sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// 400: an unknown parameter, or one out of its bounds.
    #[error("a query parameter is unknown, repeated or out of bounds")]
    InvalidParameter,
    /// 400: not a cursor of ours, or one of another inbox.
    #[error("the cursor is not one that this inbox's feed has given out")]
    InvalidCursor,
    /// 410: items behind it were discarded; where the feed begins now.
    #[error("the cursor is older than what is kept; go on from the oldest one")]
    CursorExpired(String),
    /// 409: its item is not there or not the same; the database is an older one.
    #[error("the feed was put back since the cursor was given out; begin without a cursor")]
    CursorEpochChanged,
    /// 400: not an object, or a field that does not fit; which one, and what it may
    /// hold.
    #[error(
        "the body must be a JSON object with the fields that /openapi.json names, in their bounds"
    )]
    InvalidBody(Unfit),
    /// 400: consume without a key.
    #[error("send an Idempotency-Key header, new for each artifact and repeated on a retry")]
    IdempotencyKeyRequired,
    /// 400: the key does not fit.
    #[error("an Idempotency-Key is one header of 1 to 256 visible ASCII characters")]
    IdempotencyKeyInvalid,
    /// 401: not exactly one known bearer token in the one place for it.
    #[error("send one Authorization header with a valid Bearer key, and no key in the query")]
    Unauthenticated,
    /// 403: the key lacks a scope; which one.
    #[error("this key lacks the scope that the path needs")]
    Forbidden(Permission),
    /// 404: nothing there for this caller; the same for what exists elsewhere.
    #[error("there is nothing here for this key")]
    NotFound,
    /// 405: the path takes these methods only.
    #[error("the path does not take this method")]
    MethodNotAllowed(String),
    /// 408: the body did not come.
    #[error("the body took too long to arrive")]
    RequestTimeout,
    /// 415: a body is read as it is.
    #[error("send the body without a Content-Encoding")]
    UnsupportedEncoding,
    /// 409: somebody has it; when, but never the value.
    #[error("the artifact was consumed before; wait for another message")]
    AlreadyConsumed(Timestamp),
    /// 409: kept back, and why.
    #[error("the artifact is not given out; the reason says which rule decided")]
    Withheld(Reason),
    /// 410: its time is over.
    #[error("the artifact has expired; ask its sender for another message")]
    Expired(Timestamp),
    /// 409: a newer mail has brought another one.
    #[error("a newer message has superseded it; consume the newest one")]
    Superseded,
    /// 409: somebody has the address.
    #[error("the address is taken")]
    InboxTaken,
    /// 409: the name has a key that is good.
    #[error(
        "the name has a key, or the same request has made one whose token was shown then; \
         revoke it first, or take another name, with a new Idempotency-Key"
    )]
    KeyTaken,
    /// 409: the sender was asked often enough.
    #[error("the attempt's budget of resends is spent")]
    ResendsSpent,
    /// 409: its deadline has passed, or it was finished.
    #[error("the attempt is over; open another one")]
    AttemptOver,
    /// 422: one key for two requests.
    #[error("the Idempotency-Key was used for another request; take a new key")]
    IdempotencyKeyReused,
    /// 422: one reference for two requests.
    #[error("the reference was used for another request; take a new one")]
    ReferenceReused,
    /// 429: this key's waits are all taken.
    #[error("this key has too many waits open at once")]
    TooManyWaits,
    /// 429: a budget is spent; in how many seconds it is worth asking again.
    #[error("too many requests of this kind; ask again after the time in Retry-After")]
    RateLimited(u64),
    /// 500: a bug of ours, or a damaged row.
    #[error("the server met something unexpected")]
    Internal,
    /// 503: the database is away; whether a consume was done is unknown, and
    /// its retry will tell.
    #[error("the store is unavailable; repeat the request with the same Idempotency-Key")]
    TemporarilyUnavailable,
}

/// The members of a problem document, in the order they are written.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Document<'a> {
    r#type: String,
    #[schema(value_type = String)]
    title: &'static str,
    status: u16,
    detail: String,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    consumed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expired_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    reason: Option<&'a Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    scope: Option<Permission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<&'a str>,
    /// Which field of the body does not fit, and what it may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
}

impl Problem {
    /// Its type.
    pub(crate) fn name(&self) -> String {
        format!("urn:maillatch:problem:{}", self.slug())
    }

    /// The last part of its type.
    pub(crate) fn slug(&self) -> &'static str {
        self.row().1
    }

    /// Whether it is the store's and may be over at the next look, so that
    /// whoever waits anyway goes on waiting.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::TemporarilyUnavailable)
    }

    /// Whether the same request may succeed later.
    fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RequestTimeout
                | Self::TooManyWaits
                | Self::RateLimited(_)
                | Self::TemporarilyUnavailable
        )
    }

    fn document(&self) -> Document<'_> {
        let (status, _, title) = self.row();
        Document {
            r#type: self.name(),
            title,
            status: status.as_u16(),
            detail: self.to_string(),
            retryable: self.is_retryable(),
            consumed_at: match self {
                Self::AlreadyConsumed(at) => Some(*at),
                _ => None,
            },
            expired_at: match self {
                Self::Expired(at) => Some(*at),
                _ => None,
            },
            reason: match self {
                Self::Withheld(reason) => Some(reason),
                _ => None,
            },
            scope: match self {
                Self::Forbidden(scope) => Some(*scope),
                _ => None,
            },
            oldest: match self {
                Self::CursorExpired(oldest) => Some(oldest),
                _ => None,
            },
            field: match self {
                Self::InvalidBody(unfit) => unfit.field,
                _ => None,
            },
            rule: match self {
                Self::InvalidBody(unfit) => Some(&unfit.rule),
                _ => None,
            },
        }
    }

    /// The document as text, for where no status can be sent.
    pub(crate) fn text(&self) -> String {
        reply::text(&self.document())
    }

    /// The one header that a status asks for.
    fn header(&self) -> Option<(header::HeaderName, String)> {
        match self {
            Self::Unauthenticated => Some((header::WWW_AUTHENTICATE, "Bearer".to_owned())),
            Self::MethodNotAllowed(allowed) => Some((header::ALLOW, allowed.clone())),
            Self::RateLimited(seconds) => Some((header::RETRY_AFTER, seconds.to_string())),
            Self::TooManyWaits | Self::TemporarilyUnavailable => {
                Some((header::RETRY_AFTER, "1".to_owned()))
            }
            _ => None,
        }
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.row().0
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = reply::json(
            self.status_code(),
            "application/problem+json",
            &self.document(),
        );
        if let Some((name, value)) = self.header()
            && let Ok(value) = header::HeaderValue::try_from(value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// A problem is an answer by itself, for paths that can only refuse.
impl Responder for Problem {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        self.error_response()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(source) => {
                tracing::warn!(error = %source, "the feed cannot reach the store");
                Self::TemporarilyUnavailable
            }
            StoreError::Broken(source) => {
                tracing::error!(error = %source, "the store answered the feed with nonsense");
                Self::Internal
            }
        }
    }
}
