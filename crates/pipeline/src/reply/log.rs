//! Replies, and how they are recorded.

use async_trait::async_trait;

use crate::{
    CapKind, InboxId, MessageId, NewSend, ProviderKey, Receipt, ReplyContext, ReplyRefusal,
    Request, Scope, SendId, SendView, SendWritten, SenderProof, StoreError, ThreadCaps, ThreadId,
};

/// By what a copy of our own mail is recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoClues {
    /// The provider key in its header.
    pub key: Option<String>,
    /// Its Message-ID, without brackets.
    pub message_id: Option<String>,
    /// The id that the provider gave it, if it comes from an address of ours.
    pub provider_id: Option<String>,
}

/// Recognises what comes back of our own mail: for the worker.
#[async_trait]
pub trait EchoLog: Send + Sync {
    /// Whether a send has one of these. A copy with the provider key, or with the
    /// Message-ID that contains half of it, proves that the mail was sent: before that, only
    /// the provider knows the key. `Lost`: no send is meant. `Done`: nothing had to be written.
    async fn recognise(&self, clues: &EchoClues) -> Result<SendWritten, StoreError>;

    /// Writes that an event of the provider proves that the mail with this key was sent.
    async fn prove_sent(
        &self,
        key: ProviderKey,
        receipt: Option<Receipt>,
    ) -> Result<SendWritten, StoreError>;
}

/// A message that an agent wants to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyTarget {
    /// The message.
    pub message: MessageId,
    /// The inbox it was sent to.
    pub inbox: InboxId,
    /// Whether its sender is proven.
    pub proof: SenderProof,
    /// Why it is not answered.
    pub no_reply: Option<ReplyRefusal>,
    /// Its thread, and a digest of the person who wrote it.
    pub thread: Option<(ThreadId, [u8; 16])>,
    /// What a reply repeats.
    pub context: Option<ReplyContext>,
    /// The reply that it has.
    pub reply: Option<SendView>,
}

/// A rendered reply that is ready to be stored.
#[derive(Debug, Clone)]
pub struct NewReply {
    /// The mail.
    pub send: NewSend,
    /// The message that it answers.
    pub message: MessageId,
    /// The inbox of that message.
    pub inbox: InboxId,
    /// Its thread, and a digest of the person who wrote it.
    pub thread: (ThreadId, [u8; 16]),
    /// How many replies are allowed.
    pub caps: ThreadCaps,
}

/// The outcome of recording a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyRecorded {
    /// It is recorded.
    New(SendView),
    /// The message has this reply. The flag says whether its content is the same.
    Known(SendView, bool),
    /// The intent belongs to another action.
    IntentUsed(SendView),
    /// The idempotency key was used for another request.
    KeyReused,
    /// A mail of ours followed the message.
    AnsweredSince,
    /// The thread belongs to a person, now or since an earlier reply.
    HandedOver(ThreadId, HandoverTime),
    /// A cap of sends is reached. The time is how long its window still lasts.
    Capped(CapKind, std::time::Duration),
}

/// When a thread was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoverTime {
    /// By this reply.
    Now,
    /// Before.
    Before,
}

/// Replies: for the crate that renders them.
#[async_trait]
pub trait ReplyLog: Send + Sync {
    /// The message that an agent wants to answer, if its inbox is in the scope.
    async fn reply_target(
        &self,
        message: MessageId,
        scope: &Scope,
    ) -> Result<Option<ReplyTarget>, StoreError>;

    /// Records a reply, if the message has none and its thread allows it. A unique key of
    /// the message decides; the thread is locked for this transaction alone. If the message has
    /// one, the request uses its idempotency key for that one.
    async fn record_reply(&self, reply: NewReply) -> Result<ReplyRecorded, StoreError>;

    /// Answers a request with the reply that its message has, when the message can no longer be
    /// answered and nothing is rendered. The request uses its idempotency key, as in
    /// [`record_reply()`](Self::record_reply).
    async fn repeat_reply(
        &self,
        reply: SendId,
        asked: Request,
    ) -> Result<ReplyRecorded, StoreError>;
}
