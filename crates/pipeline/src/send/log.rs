//! Sends: asking for one, reading its state, and what the operator decides.

use std::time::Duration;

use async_trait::async_trait;

use crate::{ConsumerId, InboxWatch, Request, SendId, StoreError};

use super::action::{Receipt, SenderName};
use super::intent::{IntentLabel, ProviderKey, Recipient};
use super::view::{SendEvent, SendState, SendView};

/// A rendered mail that is ready to be stored.
///
/// Its bytes are made once and never again: a retry sends exactly these.
#[derive(Debug, Clone)]
pub struct NewSend {
    /// Its id.
    pub id: SendId,
    /// The configured sender.
    pub sender: SenderName,
    /// The configured provider of that sender.
    pub provider: String,
    /// The key of the intent.
    pub key: ProviderKey,
    /// What the mail is for, as the operator will see it.
    pub label: IntentLabel,
    /// A digest of the rendered envelope, which recognises the same intent with other
    /// content.
    pub fingerprint: [u8; 32],
    /// To whom it is sent.
    pub to: Recipient,
    /// The request to the provider, rendered.
    pub payload: SendPayload,
    /// The `Message-ID` of the mail, without angle brackets.
    pub message_id: String,
    /// How long it waits for the approval of the operator, until it is cancelled.
    /// `None`: it needs no approval.
    pub hold: Option<Duration>,
    /// The API key that asks.
    pub by: ConsumerId,
    /// The request, if it has an idempotency key.
    pub asked: Option<Request>,
    /// How many sends are allowed.
    pub caps: Vec<SendCap>,
}

/// The bytes of a rendered mail. Only the store and the crate that sends read them.
#[derive(Clone, PartialEq, Eq)]
pub struct SendPayload(Vec<u8>);

impl SendPayload {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Logs never show a mail.
impl std::fmt::Debug for SendPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SendPayload({} bytes)", self.0.len())
    }
}

/// How many sends of one subject are allowed within a window of fixed length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendCap {
    /// What is counted: the recipient, the API key, or everything.
    pub what: CapKind,
    /// A keyed digest of the recipient or the name of the key.
    pub subject: [u8; 16],
    /// The length of a window.
    pub window: Duration,
    /// The most sends in a window.
    pub most: u32,
}

/// What a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapKind {
    /// Sends to one recipient.
    Recipient,
    /// Sends of one API key.
    Key,
    /// All sends.
    Installation,
}

impl CapKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Recipient, Self::Key, Self::Installation];

    /// The word used in the database and in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recipient => "recipient",
            Self::Key => "key",
            Self::Installation => "installation",
        }
    }
}

/// The outcome of asking for a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendRecorded {
    /// It is recorded.
    New(SendView),
    /// The same request recorded it before.
    Again(SendView),
    /// A send with the same intent and the same content was recorded before.
    Duplicate(SendView),
    /// The intent belongs to a send with other content, or to a guard.
    IntentUsed(SendView),
    /// The idempotency key was used for another request.
    KeyReused,
    /// A cap is reached. The time is how long its window still lasts.
    Capped(CapKind, Duration),
}

/// A decision about a send that was not dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendDecision {
    /// A held send may be sent.
    Approve,
    /// A held send is cancelled, and its content is wiped.
    Refuse,
    /// A send that is `held` or `ready` is cancelled, and its content is wiped. A send
    /// that may have reached its provider is not cancelled.
    Cancel,
}

/// What the operator says about a send or a guard that is `uncertain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorSettlement {
    /// It was sent, or done.
    Sent(Option<Receipt>),
    /// It was not sent, and may be sent now. A guard may be claimed again.
    Retry,
    /// It shall not be sent, whatever happened. The intent stays used.
    Abandon,
}

/// The outcome of a decision about a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendDecided {
    /// It is recorded.
    Done(SendView),
    /// Nothing was changed: its state does not allow it.
    NotNow(SendView),
    /// There is no such send.
    Unknown,
}

/// Sends: for the feed, the operator, and the crate that renders them.
#[async_trait]
pub trait SendLog: Send + Sync {
    /// Records a send, if its intent is new. The unique key of the intent decides, and
    /// nothing is read before. A duplicate uses its idempotency key, too; a send that is refused
    /// leaves the key free.
    async fn record_send(&self, send: NewSend) -> Result<SendRecorded, StoreError>;

    /// The send or the guard with this id.
    async fn send(&self, send: SendId) -> Result<Option<SendView>, StoreError>;

    /// Up to `limit` sends and guards in a state, newest first, before `before`.
    async fn sends(
        &self,
        state: SendState,
        before: Option<SendId>,
        limit: u32,
    ) -> Result<Vec<SendView>, StoreError>;

    /// What happened to a send, oldest first.
    async fn send_events(&self, send: SendId) -> Result<Vec<SendEvent>, StoreError>;

    /// Decides about a send that was not dispatched.
    async fn decide_send(
        &self,
        send: SendId,
        decision: SendDecision,
        by: &ConsumerId,
    ) -> Result<SendDecided, StoreError>;

    /// Settles a send or a guard that is `uncertain`. That it was sent is accepted in
    /// every state.
    async fn settle_send(
        &self,
        send: SendId,
        how: OperatorSettlement,
        by: &ConsumerId,
    ) -> Result<SendDecided, StoreError>;

    /// Begins to watch a send. Start the watch before reading the send.
    fn watch_send(&self, send: SendId) -> Box<dyn InboxWatch>;
}
