//! What is known of a send or a guard, without its content.

use crate::{GuardId, MessageId, Reason, SendId, Timestamp};

use super::action::{ActionName, Receipt, SenderName};
use super::intent::{IntentLabel, ProviderKey};

/// The state of a send or a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendState {
    /// It waits for the approval of the operator.
    Held,
    /// It may be claimed.
    Ready,
    /// A process has it, and has not begun to send it.
    Claimed,
    /// A process may have handed it to the provider. A guard: its holder may act.
    Dispatched,
    /// The provider accepted it. A guard: the action is done.
    Sent,
    /// The provider refused it for good.
    Failed,
    /// It was cancelled before it was dispatched.
    Cancelled,
    /// Whether the provider accepted it is unknown.
    Uncertain,
}

impl SendState {
    /// All states.
    pub const ALL: [Self; 8] = [
        Self::Held,
        Self::Ready,
        Self::Claimed,
        Self::Dispatched,
        Self::Sent,
        Self::Failed,
        Self::Cancelled,
        Self::Uncertain,
    ];

    /// The word used in the database and for the operator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Ready => "ready",
            Self::Claimed => "claimed",
            Self::Dispatched => "dispatched",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Uncertain => "uncertain",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing more happens.
    pub fn is_final(self) -> bool {
        match self {
            Self::Sent | Self::Failed | Self::Cancelled => true,
            Self::Held | Self::Ready | Self::Claimed | Self::Dispatched | Self::Uncertain => false,
        }
    }
}

/// Which of the two a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    /// A mail that is sent here.
    Send,
    /// An action that is done outside of Maillatch.
    Guard,
}

impl SendKind {
    /// The word used in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Guard => "guard",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Send, Self::Guard]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// A send or a guard, without its recipient and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendView {
    /// The id of the row. [`Self::public_id`] is the id that callers see.
    pub id: SendId,
    /// Which of the two it is.
    pub kind: SendKind,
    /// Who acts.
    pub sender: SenderName,
    /// What kind of action it is; `mail` for a send.
    pub action: ActionName,
    /// What it is for; `None` when the caller named the intent by a key of its own.
    pub label: Option<IntentLabel>,
    /// The message that it answers.
    pub reply_to: Option<MessageId>,
    /// The key that the provider recognises a repetition by.
    pub provider_key: ProviderKey,
    /// The configured provider of a send.
    pub provider: Option<String>,
    /// Its state. A guard whose lease is over is `uncertain` here.
    pub state: SendState,
    /// How often it was dispatched.
    pub tries: u32,
    /// Why it has its state.
    pub reason: Option<Reason>,
    /// What proves that it was done.
    pub receipt: Option<Receipt>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was dispatched for the first time.
    pub first_dispatched_at: Option<Timestamp>,
    /// When the lease of its claim ends, while there is one.
    pub lease_until: Option<Timestamp>,
    /// When it reached a final state.
    pub finished_at: Option<Timestamp>,
}

impl SendView {
    /// The id that callers see: `snd_…` of a send, `grd_…` of a guard.
    pub fn public_id(&self) -> String {
        match self.kind {
            SendKind::Send => self.id.to_string(),
            SendKind::Guard => GuardId::from_uuid(self.id.as_uuid()).to_string(),
        }
    }
}

/// One thing that happened to a send or a guard. Events are only ever added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendEvent {
    /// When.
    pub at: Timestamp,
    /// What, such as `claimed` or `settled_sent`.
    pub what: Reason,
    /// Why.
    pub why: Option<Reason>,
    /// The name of the API key that did it; `None` for the server itself.
    pub by: Option<String>,
}
