//! A send, as agents and operators see it: its state, and never its content.

use pipeline::{MessageId, SendState, SendView, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::problem::send_state;

/// All words for what to do next.
pub(crate) const NEXT: [&str; 3] = ["wait", "nothing", "do_not_retry"];

/// A send or a guard.
#[derive(Serialize, ToSchema)]
#[schema(as = Send)]
pub(crate) struct SendBody {
    /// The id: `snd_…` of a send, `grd_…` of a guard.
    id: String,
    #[schema(value_type = String)]
    state: &'static str,
    /// What to do.
    #[schema(value_type = String)]
    next: &'static str,
    sender: String,
    /// `mail`, or the kind of action that a guard is for.
    kind: String,
    /// What it is for; left out if the caller named its intent by a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<SendIntentBody>,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    reply_to: Option<MessageId>,
    /// The message had this reply before it was asked for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// Whether the reply that it had says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_content: Option<bool>,
    /// How often it was handed to the provider, or claimed.
    tries: u32,
    /// Why it has its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The provider's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
}

/// What a send is for.
#[derive(Serialize, ToSchema)]
#[schema(as = SendIntent)]
pub(crate) struct SendIntentBody {
    r#type: String,
    entity: String,
    version: u32,
}

/// A page of sends.
#[derive(Serialize, ToSchema)]
#[schema(as = SendPage)]
pub(crate) struct SendPageBody {
    pub(super) items: Vec<SendBody>,
}

impl SendBody {
    pub(crate) fn new(view: SendView) -> Self {
        Self {
            id: view.public_id(),
            state: send_state(&view),
            next: match view.state {
                SendState::Uncertain => "do_not_retry",
                state if state.is_final() => "nothing",
                _ => "wait",
            },
            sender: view.sender.to_string(),
            kind: view.action.to_string(),
            intent: view.label.map(|label| SendIntentBody {
                r#type: label.kind,
                entity: label.entity,
                version: label.version,
            }),
            reply_to: view.reply_to,
            duplicate: None,
            same_content: None,
            tries: view.tries,
            reason: view.reason.map(|reason| reason.to_string()),
            result: view.receipt.map(|receipt| receipt.to_string()),
            created_at: view.created_at,
            finished_at: view.finished_at,
        }
    }

    /// The same, for a caller who asked for a reply that the message has already.
    pub(super) fn duplicate(self, is_same: bool) -> Self {
        Self {
            duplicate: Some(true),
            same_content: Some(is_same),
            ..self
        }
    }
}
