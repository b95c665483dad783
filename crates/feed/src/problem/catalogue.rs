//! The closed list, as a list.

use pipeline::{Permission, Reason, Timestamp};

use super::Problem;

impl Problem {
    /// One of each, for the API's description.
    pub(crate) fn all() -> Vec<Self> {
        let at = Timestamp::from_millis(0);
        vec![
            Self::InvalidParameter,
            Self::InvalidCursor,
            Self::CursorExpired(String::new()),
            Self::CursorEpochChanged,
            Self::InvalidBody,
            Self::IdempotencyKeyRequired,
            Self::IdempotencyKeyInvalid,
            Self::Unauthenticated,
            Self::Forbidden(Permission::Operator),
            Self::NotFound,
            Self::MethodNotAllowed("GET".to_owned()),
            Self::RequestTimeout,
            Self::AlreadyConsumed(at),
            Self::Withheld(Reason::new("host_not_allowed")),
            Self::Superseded,
            Self::InboxTaken,
            Self::KeyTaken,
            Self::ResendsSpent,
            Self::AttemptOver,
            Self::Expired(at),
            Self::IdempotencyKeyReused,
            Self::ReferenceReused,
            Self::TooManyWaits,
            Self::RateLimited(1),
            Self::Internal,
            Self::TemporarilyUnavailable,
        ]
    }
}
