//! A thread: the mails that one person and one inbox exchange about one thing.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    ClaimToken, ConsumerId, InboxId, MessageId, Reason, ReplyRefusal, Scope, SendView, SenderProof,
    ServerKey, StoreError, ThreadId, Timestamp,
};

impl ThreadId {
    /// The thread of a mail. The person is a part of it: without, a stranger could forge
    /// the ids of another thread and use up its replies.
    pub fn of(server: &ServerKey, inbox: &InboxId, root: &str, person: &str) -> Self {
        let (inbox, root) = (inbox.as_str().as_bytes(), root.as_bytes());
        let tag = server.tag(&[b"thread", inbox, root, person.as_bytes()]);
        Self::from_uuid(uuid::Uuid::from_bytes(tag))
    }
}

/// A digest of a person who writes to an inbox, in whatever thread.
pub fn person_tag(server: &ServerKey, inbox: &InboxId, person: &str) -> [u8; 16] {
    server.tag(&[b"person", inbox.as_str().as_bytes(), person.as_bytes()])
}

/// Who answers in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// Agents may.
    Open,
    /// A person does; agents get a refusal.
    HandedOver,
}

impl ThreadState {
    /// All states.
    pub const ALL: [Self; 2] = [Self::Open, Self::HandedOver];

    /// The word used in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HandedOver => "handed_over",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// How many replies are allowed. More hand the thread over to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCaps {
    /// The length of the short window.
    pub burst_window: Duration,
    /// The most replies in one thread within the short window.
    pub burst: u32,
    /// The most replies in one thread within a day.
    pub day: u32,
    /// The most replies to one person within the short window, in all threads. A machine
    /// that answers without naming what it answers begins a thread each time.
    pub person_burst: u32,
    /// The most replies to one person within a day, in all threads.
    pub person_day: u32,
    /// The configured callback that is posted when a thread is handed over.
    pub callback: Option<String>,
}

/// A thread, as agents and operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadView {
    /// Its id.
    pub id: ThreadId,
    /// The inbox.
    pub inbox: InboxId,
    /// Who answers.
    pub state: ThreadState,
    /// Why it was handed over.
    pub reason: Option<Reason>,
    /// The message whose reply was one too many.
    pub message: Option<MessageId>,
    /// How many replies were recorded in it.
    pub replies: u64,
    /// When it was handed over.
    pub handed_over_at: Option<Timestamp>,
    /// When it was last released, and by which key.
    pub released: Option<(Timestamp, String)>,
}

/// The outcome of releasing a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadReleased {
    /// Agents may answer again. Replies count from now on.
    Done(ThreadView),
    /// Nothing was changed: it is not handed over.
    NotHandedOver(ThreadView),
    /// There is no such thread.
    Unknown,
}

/// A message, as agents see it: nothing that its sender wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageView {
    /// Its id.
    pub id: MessageId,
    /// The inbox it was sent to.
    pub inbox: InboxId,
    /// The sender's domain.
    pub sender_domain: Option<String>,
    /// Whether the sender is proven.
    pub sender_proof: SenderProof,
    /// What was unusual about it, and its labels.
    pub flags: Vec<String>,
    /// When it was received.
    pub received_at: Timestamp,
    /// What rules did with it, such as `built_in.automated:no_reply`.
    pub rules: Vec<String>,
    /// Why it is not answered, as far as the message alone says so.
    pub no_reply: Option<ReplyRefusal>,
    /// Its thread.
    pub thread: Option<(ThreadId, ThreadState)>,
    /// Its reply.
    pub reply: Option<SendView>,
}

/// The news that a thread was handed over, claimed by one worker to post it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// The thread.
    pub thread: ThreadView,
    /// The configured name of the receiver.
    pub callback: String,
    /// The fencing token of the claim.
    pub token: ClaimToken,
    /// Which try this is, from 1.
    pub tries: u32,
}

/// Messages and threads: for the feed, the operator and the worker.
#[async_trait]
pub trait ThreadLog: Send + Sync {
    /// The message, if its inbox is in the scope.
    async fn message(
        &self,
        message: MessageId,
        scope: &Scope,
    ) -> Result<Option<MessageView>, StoreError>;

    /// The thread, if its inbox is in the scope.
    async fn thread(
        &self,
        thread: ThreadId,
        scope: &Scope,
    ) -> Result<Option<ThreadView>, StoreError>;

    /// Up to `limit` threads that are handed over, the newest first.
    async fn handed_over(&self, limit: u32) -> Result<Vec<ThreadView>, StoreError>;

    /// How many threads are handed over.
    async fn count_handed_over(&self) -> Result<u64, StoreError>;

    /// Lets agents answer again.
    async fn release_thread(
        &self,
        thread: ThreadId,
        by: &ConsumerId,
    ) -> Result<ThreadReleased, StoreError>;

    /// Claims up to `limit` threads whose callback is due, for `lease` each, and counts
    /// the try.
    async fn claim_handovers(
        &self,
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<Handover>, StoreError>;

    /// Ends a try: with a wait it is tried again. False when the claim was lost.
    async fn end_handover(
        &self,
        thread: ThreadId,
        token: ClaimToken,
        wait: Option<Duration>,
    ) -> Result<bool, StoreError>;
}
