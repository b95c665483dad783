//! The complete list of problems: status, type and title of each.

use actix_web::http::StatusCode as S;
use pipeline::{CapKind, Permission, Reason, ReplyRefusal, Timestamp};

use super::{InvalidBody, Problem, UsedIntent};

impl Problem {
    /// One of each, for the `OpenAPI` document.
    pub(crate) fn all() -> Vec<Self> {
        let at = Timestamp::from_millis(0);
        vec![
            Self::InvalidParameter,
            Self::InvalidCursor,
            Self::CursorExpired("AgAAAAAAAAAH".to_owned()),
            Self::CursorEpochChanged,
            Self::InvalidBody(InvalidBody::whole("the fields of its schema")),
            Self::IdempotencyKeyRequired,
            Self::IdempotencyKeyInvalid,
            Self::Unauthenticated,
            Self::Forbidden(Permission::Operator),
            Self::NotFound,
            Self::MethodNotAllowed("GET".to_owned()),
            Self::UnsupportedEncoding,
            Self::RequestTimeout,
            Self::AlreadyConsumed(at),
            Self::Withheld(Reason::new("host_not_allowed")),
            Self::Superseded,
            Self::InboxTaken,
            Self::NoMailDomain,
            Self::KeyTaken,
            Self::ResendsSpent,
            Self::AttemptOver,
            Self::InProgress(UsedIntent::example(), 1),
            Self::Uncertain(UsedIntent::example()),
            Self::IntentUsed(UsedIntent::example()),
            Self::LeaseOver(UsedIntent::example()),
            Self::StaleToken(UsedIntent::example()),
            Self::AlreadyDone(UsedIntent::example()),
            Self::StateConflict(UsedIntent::example()),
            Self::NoReply(ReplyRefusal::Automated),
            Self::ThreadHandedOver(String::new()),
            Self::RecipientNotAllowed,
            Self::SendCap(CapKind::Recipient, 1),
            Self::Expired(at),
            Self::IdempotencyKeyReused,
            Self::ReferenceReused,
            Self::TooManyWaits,
            Self::RateLimited(1),
            Self::Internal,
            Self::TemporarilyUnavailable,
        ]
    }

    /// Status, last part of the type URN, and title.
    #[expect(clippy::too_many_lines, reason = "one row for each problem")]
    pub(super) fn row(&self) -> (S, &'static str, &'static str) {
        match self {
            Self::InvalidParameter => (S::BAD_REQUEST, "invalid-parameter", "Invalid parameter"),
            Self::InvalidCursor => (S::BAD_REQUEST, "invalid-cursor", "Invalid cursor"),
            Self::CursorExpired(_) => (S::GONE, "cursor-expired", "Cursor expired"),
            Self::CursorEpochChanged => {
                (S::CONFLICT, "cursor-epoch-changed", "Cursor epoch changed")
            }
            Self::InvalidBody(_) => (S::BAD_REQUEST, "invalid-body", "Invalid body"),
            Self::IdempotencyKeyRequired => (
                S::BAD_REQUEST,
                "idempotency-key-required",
                "Idempotency-Key required",
            ),
            Self::IdempotencyKeyInvalid => (
                S::BAD_REQUEST,
                "idempotency-key-invalid",
                "Idempotency-Key invalid",
            ),
            Self::Unauthenticated => (S::UNAUTHORIZED, "unauthenticated", "Unauthenticated"),
            Self::Forbidden(_) => (S::FORBIDDEN, "forbidden", "Forbidden"),
            Self::NotFound => (S::NOT_FOUND, "not-found", "Not found"),
            Self::MethodNotAllowed(_) => (
                S::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "Method not allowed",
            ),
            Self::UnsupportedEncoding => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-encoding",
                "Unsupported encoding",
            ),
            Self::RequestTimeout => (S::REQUEST_TIMEOUT, "request-timeout", "Request timeout"),
            Self::AlreadyConsumed(_) => (S::CONFLICT, "already-consumed", "Already consumed"),
            Self::Withheld(_) => (S::CONFLICT, "withheld", "Withheld"),
            Self::Superseded => (S::CONFLICT, "superseded", "Superseded"),
            Self::InboxTaken => (S::CONFLICT, "inbox-taken", "Inbox taken"),
            Self::NoMailDomain => (S::CONFLICT, "no-mail-domain", "No mail domain"),
            Self::KeyTaken => (S::CONFLICT, "key-taken", "Key taken"),
            Self::ResendsSpent => (S::CONFLICT, "resends-spent", "Resends spent"),
            Self::AttemptOver => (S::CONFLICT, "attempt-over", "Attempt over"),
            Self::InProgress(..) => (S::CONFLICT, "in-progress", "In progress"),
            Self::Uncertain(_) => (S::CONFLICT, "uncertain", "Uncertain"),
            Self::IntentUsed(_) => (S::CONFLICT, "intent-used", "Intent used"),
            Self::LeaseOver(_) => (S::CONFLICT, "lease-over", "Lease over"),
            Self::StaleToken(_) => (S::CONFLICT, "stale-token", "Stale token"),
            Self::AlreadyDone(_) => (S::CONFLICT, "already-done", "Already done"),
            Self::StateConflict(_) => (S::CONFLICT, "state-conflict", "State conflict"),
            Self::NoReply(_) => (S::CONFLICT, "no-reply", "No reply"),
            Self::ThreadHandedOver(_) => (S::CONFLICT, "thread-handed-over", "Thread handed over"),
            Self::RecipientNotAllowed => (
                S::FORBIDDEN,
                "recipient-not-allowed",
                "Recipient not allowed",
            ),
            Self::SendCap(..) => (S::TOO_MANY_REQUESTS, "send-cap", "Send cap"),
            Self::Expired(_) => (S::GONE, "expired", "Expired"),
            Self::IdempotencyKeyReused => (
                S::UNPROCESSABLE_ENTITY,
                "idempotency-key-reused",
                "Idempotency-Key reused",
            ),
            Self::ReferenceReused => (
                S::UNPROCESSABLE_ENTITY,
                "reference-reused",
                "Reference reused",
            ),
            Self::TooManyWaits => (S::TOO_MANY_REQUESTS, "too-many-waits", "Too many waits"),
            Self::RateLimited(_) => (S::TOO_MANY_REQUESTS, "rate-limited", "Rate limited"),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
            Self::TemporarilyUnavailable => (
                S::SERVICE_UNAVAILABLE,
                "temporarily-unavailable",
                "Temporarily unavailable",
            ),
        }
    }
}
