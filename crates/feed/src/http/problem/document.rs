//! A problem as a JSON document.

use pipeline::{Permission, Timestamp};
use serde::Serialize;

use super::{Problem, UsedIntent};

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
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    scope: Option<Permission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<&'a str>,
    /// The field of the body that is invalid, and what it may contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// The guard or the send that has the intent, and its state; or a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

impl Problem {
    /// The guard or the send that this is about.
    fn used_intent(&self) -> Option<&UsedIntent> {
        match self {
            Self::InProgress(used, _)
            | Self::Uncertain(used)
            | Self::IntentUsed(used)
            | Self::LeaseOver(used)
            | Self::StaleToken(used)
            | Self::StateConflict(used)
            | Self::AlreadyDone(used) => Some(used),
            _ => None,
        }
    }

    pub(super) fn document(&self) -> Document<'_> {
        let (status, _, title) = self.row();
        let used = self.used_intent();
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
                Self::Withheld(reason) => Some(reason.as_str()),
                Self::SendCap(what, _) => Some(what.as_str()),
                Self::NoReply(why) => Some(why.as_str()),
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
                Self::InvalidBody(invalid) => invalid.field,
                _ => None,
            },
            rule: match self {
                Self::InvalidBody(invalid) => Some(&invalid.rule),
                _ => None,
            },
            id: match self {
                Self::ThreadHandedOver(thread) => Some(thread),
                _ => used.map(|used| used.id.as_str()),
            },
            state: used.map(|used| used.state),
            since: used.map(|used| used.since),
        }
    }
}
