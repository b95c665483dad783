//! An inbox as its owner sees it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use pipeline::{InboxId, InboxView, Scope, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::http::reply;
use crate::policy::Require;

const OPEN: &str = "open";
const EXPIRED: &str = "expired";
/// The states of an inbox.
pub(crate) const INBOX_STATES: [&str; 2] = [OPEN, EXPIRED];

/// One inbox.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Inbox)]
pub(crate) struct InboxBody {
    #[schema(value_type = String)]
    address: InboxId,
    from: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require: Option<Require>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_lifetime: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    #[schema(value_type = String)]
    state: &'static str,
}

impl InboxBody {
    /// The inbox as a caller of this scope sees it: the owner's notes are for the owner.
    pub(super) fn new(view: InboxView, scope: &Scope) -> Self {
        let is_own = scope.owns(view.owner.as_deref());
        Self {
            address: view.inbox,
            from: view.rules.senders,
            require: view.rules.needs_proof.then_some(Require::Verified),
            links: view.rules.links,
            code_lifetime: view.rules.lifetime.map(|span| span.as_secs()),
            retention: view.retention.map(|span| span.as_secs()),
            metadata: view
                .metadata
                .filter(|_| is_own)
                .and_then(|text| serde_json::from_str(&text).ok()),
            created_at: view.created_at,
            expires_at: view.expires_at,
            state: if view.is_expired { EXPIRED } else { OPEN },
        }
    }
}

/// The response with one inbox.
pub(super) fn respond(status: StatusCode, view: InboxView, scope: &Scope) -> HttpResponse {
    reply::json(status, &InboxBody::new(view, scope))
}
