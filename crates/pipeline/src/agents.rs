//! The store's traits for what agents open: inboxes and attempts. Each method is one
//! transaction.

use async_trait::async_trait;

use crate::{
    AttemptConsume, AttemptConsumed, AttemptFinished, AttemptId, AttemptOutcome, AttemptView,
    Created, InboundRule, InboxId, InboxView, NewAttempt, NewInbox, Opened, Request, ResendOutcome,
    ResendRequest, Scope, StoreError,
};

/// Inboxes, for the feed.
#[async_trait]
pub trait InboxLog: Send + Sync {
    /// Creates an inbox. Refused when the address is taken.
    async fn create_inbox(&self, inbox: NewInbox) -> Result<Created<InboxView>, StoreError>;

    /// The inbox, if it is in the scope.
    async fn inbox(&self, inbox: &InboxId, scope: &Scope) -> Result<Option<InboxView>, StoreError>;

    /// Up to `limit` inboxes of the scope, ordered by address, after `after`.
    async fn inboxes(
        &self,
        scope: &Scope,
        after: Option<&InboxId>,
        limit: u32,
    ) -> Result<Vec<InboxView>, StoreError>;

    /// Expires an inbox: from now on it accepts no mail. Its items are kept for
    /// their retention time. `None` when the scope has no such inbox.
    async fn expire_inbox(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<InboxView>, StoreError>;

    /// Replaces an inbox: creates one at the address `to` with the same owner and
    /// rules, and expires the old one, in one transaction. Refused when the scope
    /// has no such inbox or the new address is taken.
    async fn rotate_inbox(
        &self,
        inbox: &InboxId,
        to: &InboxId,
        scope: &Scope,
        asked: Option<&Request>,
    ) -> Result<Created<InboxView>, StoreError>;

    /// The inbox's own rules for mail, in order. `None` when the scope has no such inbox.
    async fn inbound_rules(
        &self,
        inbox: &InboxId,
        scope: &Scope,
    ) -> Result<Option<Vec<InboundRule>>, StoreError>;

    /// Replaces the inbox's own rules. False when the caller does not own the inbox, or
    /// an inbox that a rule routes to.
    async fn set_inbound_rules(
        &self,
        inbox: &InboxId,
        scope: &Scope,
        rules: Vec<InboundRule>,
    ) -> Result<bool, StoreError>;
}

/// Attempts, for the feed.
#[async_trait]
pub trait AttemptLog: Send + Sync {
    /// Opens an attempt. Mail that arrives after this commit counts for it.
    async fn open_attempt(&self, attempt: NewAttempt) -> Result<Opened, StoreError>;

    /// The attempt, if it is in the scope.
    async fn attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
    ) -> Result<Option<AttemptView>, StoreError>;

    /// Consumes the newest artifact of an attempt, or returns the attempt's state.
    /// The answer contains a value only if the consume row is committed.
    async fn consume_attempt(
        &self,
        request: &AttemptConsume,
    ) -> Result<AttemptConsumed, StoreError>;

    /// Takes one from the budget of resends. Repeating the same idempotency key
    /// takes no second one.
    async fn resend(&self, request: &ResendRequest) -> Result<ResendOutcome, StoreError>;

    /// Records how an attempt ended. Mail no longer counts for it.
    async fn finish_attempt(
        &self,
        attempt: AttemptId,
        scope: &Scope,
        outcome: AttemptOutcome,
        asked: Option<&Request>,
    ) -> Result<AttemptFinished, StoreError>;
}
