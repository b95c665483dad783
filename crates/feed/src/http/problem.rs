//! Every error response, as an RFC 9457 problem.
//!
//! The list is complete and its sentences are fixed. A language model reads these
//! responses, so they never repeat what a caller or a sender wrote.

mod catalogue;
mod document;
mod invalid_body;
mod used_intent;

use actix_web::body::BoxBody;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};
use pipeline::{CapKind, Permission, Reason, ReplyRefusal, StoreError, Timestamp};

use super::reply;

pub(crate) use document::Document;
pub(crate) use invalid_body::InvalidBody;
pub(crate) use used_intent::{UsedIntent, guard_state, send_state};

/// An error response. Its `Display` is the `detail` of the document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// 400: a query parameter is not valid.
    #[error("a query parameter is unknown, repeated or out of range")]
    InvalidParameter,
    /// 400: not a cursor of this server, or one of another inbox.
    #[error("the cursor is not valid for this inbox")]
    InvalidCursor,
    /// 410: items after it were deleted; the cursor from which the list continues.
    #[error("items after this cursor were deleted; continue from the cursor in `oldest`")]
    CursorExpired(String),
    /// 409: the cursor's item is missing or another one, so the database was
    /// restored from a backup.
    #[error("the database was restored after this cursor was issued; list again without a cursor")]
    CursorEpochChanged,
    /// 400: not an object, or an invalid field; which one, and what it may contain.
    #[error("{0}")]
    InvalidBody(InvalidBody),
    /// 400: no idempotency key.
    #[error("send an Idempotency-Key header: a new key for each request, the same on a retry")]
    IdempotencyKeyRequired,
    /// 400: the idempotency key is not valid.
    #[error("an Idempotency-Key is one header of 1 to 256 visible ASCII characters")]
    IdempotencyKeyInvalid,
    /// 401: not exactly one valid bearer token in the `Authorization` header.
    #[error("send one Authorization header with a valid Bearer key, and no key in the query")]
    Unauthenticated,
    /// 403: the key lacks a scope; which one.
    #[error("this key lacks the scope that this operation needs")]
    Forbidden(Permission),
    /// 404: it does not exist, or not for this caller; the answer is the same.
    #[error("not found, or not visible to this key")]
    NotFound,
    /// 405: the path accepts only these methods.
    #[error("this path does not accept this method")]
    MethodNotAllowed(String),
    /// 408: the body did not arrive in time.
    #[error("the body took too long to arrive")]
    RequestTimeout,
    /// 415: the server does not decode bodies.
    #[error("send the body without a Content-Encoding")]
    UnsupportedEncoding,
    /// 409: another request has consumed it; when, but never the value.
    #[error("the artifact is already consumed; wait for another message")]
    AlreadyConsumed(Timestamp),
    /// 409: the artifact is withheld, and why.
    #[error("the artifact is withheld; `reason` names the rule")]
    Withheld(Reason),
    /// 410: the artifact has expired.
    #[error("the artifact has expired; ask its sender for another message")]
    Expired(Timestamp),
    /// 409: a newer mail has replaced it.
    #[error("a newer message has replaced this artifact; consume the newest one")]
    Superseded,
    /// 409: the address is in use.
    #[error("this address is already in use")]
    InboxTaken,
    /// 409: mail to a new address would not arrive.
    #[error(
        "this server has no domain for new addresses: mail to them would not arrive; name an \
         inbox in the request, or ask the operator to run `maillatch doctor`"
    )]
    NoMailDomain,
    /// 409: the name has a valid key.
    #[error(
        "this name already has a key, whose token cannot be shown again; revoke that key or \
         choose another name, and send a new Idempotency-Key"
    )]
    KeyTaken,
    /// 409: no resend is left.
    #[error("the attempt has no resends left")]
    ResendsSpent,
    /// 409: its deadline has passed, or it is finished.
    #[error("the attempt has ended; open another one")]
    AttemptOver,
    /// 409: another caller may act on this intent now; in how many seconds to ask again.
    #[error(
        "another caller acts on this intent now; ask again after the time in Retry-After, and do \
         not act until then"
    )]
    InProgress(UsedIntent, u64),
    /// 409: whether the intent was acted on is unknown.
    #[error(
        "it is unknown whether this intent was acted on; do not act, and do not retry: the \
         operator settles it"
    )]
    Uncertain(UsedIntent),
    /// 409: the intent belongs to another action.
    #[error(
        "this intent was used for something else or has ended; if another action is meant, use \
         a higher version"
    )]
    IntentUsed(UsedIntent),
    /// 409: the lease of a guard is over.
    #[error("the lease is over and the state is uncertain; only a confirm is accepted now")]
    LeaseOver(UsedIntent),
    /// 409: the token of a guard was replaced.
    #[error("this token no longer holds the guard; do not act")]
    StaleToken(UsedIntent),
    /// 409: the state of a send does not allow this.
    #[error("the state of this send does not allow that")]
    StateConflict(UsedIntent),
    /// 409: the message is not answered, and why.
    #[error("this message is not answered; `reason` says why, and a retry gets the same answer")]
    NoReply(ReplyRefusal),
    /// 409: a person answers in this thread.
    #[error(
        "too many replies: a person answers in this thread now; do not retry, an operator \
         releases it"
    )]
    ThreadHandedOver(String),
    /// 403: the operator does not allow mail to this recipient.
    #[error("the operator does not allow mail to this recipient")]
    RecipientNotAllowed,
    /// 429: too many sends; which cap, and in how many seconds its window ends.
    #[error("too many mails; `reason` names the cap, and Retry-After says when it ends")]
    SendCap(CapKind, u64),
    /// 409: the action is done, so it cannot be reported as not done.
    #[error("the action is done")]
    AlreadyDone(UsedIntent),
    /// 422: one idempotency key for two requests.
    #[error("this Idempotency-Key was used for another request; send a new key")]
    IdempotencyKeyReused,
    /// 422: one reference for two requests.
    #[error("this reference was used for another request; choose a new one")]
    ReferenceReused,
    /// 429: the key uses all of its wait slots.
    #[error("this key has too many waits open at once")]
    TooManyWaits,
    /// 429: a rate limit is reached; in how many seconds to retry.
    #[error("too many requests of this kind; retry after the time in Retry-After")]
    RateLimited(u64),
    /// 500: a bug, or a damaged row.
    #[error("internal error")]
    Internal,
    /// 503: the database is unavailable. Whether a consume was committed is unknown;
    /// a retry with the same key finds out.
    #[error("the store is unavailable; retry with the same Idempotency-Key")]
    TemporarilyUnavailable,
}

impl Problem {
    /// Its type URN.
    pub(crate) fn name(&self) -> String {
        format!("urn:maillatch:problem:{}", self.slug())
    }

    /// The last part of its type URN.
    pub(crate) fn slug(&self) -> &'static str {
        self.row().1
    }

    /// Whether the store failed and may work at the next try. A request that waits
    /// for mail then goes on waiting.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::TemporarilyUnavailable)
    }

    /// Whether the same request may succeed later.
    fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RequestTimeout
                | Self::InProgress(..)
                | Self::SendCap(..)
                | Self::TooManyWaits
                | Self::RateLimited(_)
                | Self::TemporarilyUnavailable
        )
    }

    /// The document as an example of the description of the API.
    pub(crate) fn example(&self) -> serde_json::Value {
        serde_json::to_value(self.document()).unwrap_or_default()
    }

    /// The document as text, for a stream whose status was already sent.
    pub(crate) fn text(&self) -> String {
        reply::text(&self.document())
    }

    /// The header that belongs to its status.
    fn header(&self) -> Option<(header::HeaderName, String)> {
        match self {
            Self::Unauthenticated => Some((header::WWW_AUTHENTICATE, "Bearer".to_owned())),
            Self::MethodNotAllowed(allowed) => Some((header::ALLOW, allowed.clone())),
            Self::RateLimited(seconds)
            | Self::InProgress(_, seconds)
            | Self::SendCap(_, seconds) => Some((header::RETRY_AFTER, seconds.to_string())),
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
        let document = self.document();
        let mut response =
            reply::json_as("application/problem+json", self.status_code(), &document);
        if let Some((name, value)) = self.header()
            && let Ok(value) = header::HeaderValue::try_from(value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Lets a route that always refuses return a problem.
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
                tracing::warn!(error = %source, "store unavailable; the feed answers 503");
                Self::TemporarilyUnavailable
            }
            StoreError::Broken(source) => {
                tracing::error!(error = %source, "the store returned a row that the feed cannot read");
                Self::Internal
            }
        }
    }
}
