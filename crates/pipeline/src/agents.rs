//! The seams for what agents open: inboxes and attempts. As everywhere, a method
//! is one transaction.

use async_trait::async_trait;

use crate::{
    AttemptConsume, AttemptConsumed, AttemptId, AttemptOutcome, AttemptView, AttemptFinished, InboxId,
    InboxView, Created, NewAttempt, NewInbox, Opened, Request, ResendRequest, ResendOutcome, Scope,
    StoreError,
};

/// Inboxes, for the feed.
#[async_trait]
pub trait InboxLog: Send + Sync {
    /// Makes an inbox; refused when the address is taken.
    async fn create_inbox(&self, inbox: NewInbox) -> Result<Created<InboxView>, StoreError>;

    /// An inbox of the scope.
    async fn inbox(&self, inbox: &InboxId, scope: &Scope) -> Result<Option<InboxView>, StoreError>;

    /// Up to `limit` inboxes of the scope behind an address, in order.
    async fn inboxes(
        &self,
        scope: &Scope,
        after: Option<&InboxId>,
        limit: u32,
    ) -> Result<Vec<InboxView>, StoreError>;

    /// Ends an inbox: from now on it takes no mail. What is in it stays until
    /// its time. `None` when there is no such inbox in the scope.
    async fn expire_inbox(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<InboxView>, StoreError>;

    /// Gives an inbox a new address: a new one with the same owner and rules,
    /// and the old one expired, or neither. Refused when there is no such inbox
    /// in the scope or the new address is taken.
    async fn rotate_inbox(
        &self,
        inbox: &InboxId,
        to: &InboxId,
        scope: &Scope,
        asked: Option<&Request>,
    ) -> Result<Created<InboxView>, StoreError>;
}

/// Attempts, for the feed.
#[async_trait]
pub trait AttemptLog: Send + Sync {
    /// Opens an attempt: from this commit on mail counts for it.
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError>;

    /// An attempt of the scope.
    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError>;

    /// Consumes the newest artifact of an attempt, or says how it stands. A
    /// value is in the answer only if the row that gives it away is committed.
    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError>;

    /// Takes one from the budget of resends; the same key takes only one.
    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError>;

    /// Notes how an attempt ended; no mail counts for it any more.
    async fn finish_attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
        outcome: AttemptOutcome,
        asked: Option<&Request>,
    ) -> Result<AttemptFinished, StoreError>;
}
