//! A guard, as agents see it.

use pipeline::{GuardClaim, SendKind, SendState, SendView, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::problem::guard_state;

/// All words for the state of a guard.
pub(crate) const STATES: [&str; 5] = ["claimed", "released", "done", "uncertain", "abandoned"];

/// All words for what to do next.
pub(crate) const NEXT: [&str; 4] = ["report", "claim", "nothing", "tell_operator"];

/// A guard without its token.
#[derive(Serialize, ToSchema)]
#[schema(as = Guard)]
pub(crate) struct GuardBody {
    /// The id: `grd_…`, or `snd_…` if the mail with this intent was sent here.
    id: String,
    #[schema(value_type = String)]
    state: &'static str,
    /// What to do.
    #[schema(value_type = String)]
    next: &'static str,
    sender: String,
    /// What kind of action.
    kind: String,
    /// How often the intent was claimed.
    claims: u32,
    /// What the caller that acted has stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Until when the holder may act.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    done_at: Option<Timestamp>,
}

impl GuardBody {
    pub(super) fn new(view: SendView) -> Self {
        let state = match view.kind {
            SendKind::Guard => view.state,
            // A mail that was sent here; only its end is shown as a guard.
            SendKind::Send => SendState::Sent,
        };
        Self {
            id: view.public_id(),
            state: guard_state(state),
            next: match state {
                SendState::Held | SendState::Claimed | SendState::Dispatched => "report",
                SendState::Ready => "claim",
                SendState::Sent | SendState::Failed | SendState::Cancelled => "nothing",
                SendState::Uncertain => "tell_operator",
            },
            sender: view.sender.to_string(),
            kind: view.action.to_string(),
            claims: view.tries,
            result: view.receipt.map(|receipt| receipt.to_string()),
            deadline: view.lease_until,
            created_at: view.created_at,
            done_at: view.finished_at.filter(|_| state == SendState::Sent),
        }
    }
}

/// The permission to act.
#[derive(Serialize, ToSchema)]
#[schema(as = GuardClaim)]
pub(crate) struct GuardClaimBody {
    #[serde(flatten)]
    guard: GuardBody,
    /// Proves to this server who may act. Send it with the report.
    token: String,
    /// The same for every claim of this intent. Pass it to a provider as its idempotency
    /// key.
    provider_key: String,
    /// How many seconds are left to act.
    expires_in: u64,
}

impl GuardClaimBody {
    pub(super) fn new(claim: GuardClaim) -> Self {
        Self {
            token: claim.token.to_string(),
            provider_key: claim.guard.provider_key.to_string(),
            expires_in: claim.remaining.as_secs(),
            guard: GuardBody::new(claim.guard),
        }
    }
}
