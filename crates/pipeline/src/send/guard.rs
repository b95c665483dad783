//! Guards: an agent claims an intent before it acts somewhere else, and reports after.

use std::time::Duration;

use async_trait::async_trait;

use crate::{ClaimToken, ConsumerId, GuardId, Request, StoreError};

use super::action::{ActionName, Receipt, SenderName};
use super::intent::{IntentLabel, ProviderKey};
use super::view::SendView;

/// A request for the permission to act.
#[derive(Debug, Clone)]
pub struct GuardRequest {
    /// Who acts.
    pub sender: SenderName,
    /// What kind of action.
    pub action: ActionName,
    /// The key of the intent.
    pub key: ProviderKey,
    /// What the action is for, as the operator will see it.
    pub label: Option<IntentLabel>,
    /// For how long the permission holds.
    pub lease: Duration,
    /// The API key that asks.
    pub by: ConsumerId,
    /// The request, if it has an idempotency key. The same request gets the same permission
    /// again while it holds.
    pub asked: Option<Request>,
}

/// A permission to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardClaim {
    /// The guard. Its `lease_until` is the deadline.
    pub guard: SendView,
    /// The fencing token: the methods below require it.
    pub token: ClaimToken,
    /// How long the permission still holds.
    pub remaining: Duration,
}

/// The outcome of a request for the permission to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardClaimed {
    /// The caller may act. No other caller may until it reports.
    Yours(GuardClaim),
    /// The same request got the permission before.
    Again(GuardClaim),
    /// Another caller may act now, or a send with this intent is on its way. Its state is
    /// known again after this time at the latest.
    InProgress(SendView, Duration),
    /// The last holder did not report. Whether the action was done is unknown.
    Uncertain(SendView),
    /// The action is done. The flag says whether the same request was answered before.
    AlreadyDone(SendView, bool),
    /// The intent belongs to a send that failed or was cancelled.
    Closed(SendView),
    /// The idempotency key was used for another intent.
    KeyReused,
}

/// The outcome of a report about a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardReported {
    /// It is recorded. For `extend`, the time is how long the permission still holds.
    Done(SendView, Duration),
    /// Nothing was changed: the action is done already.
    AlreadyDone(SendView),
    /// Nothing was changed: the lease is over, and the state is `uncertain`.
    LeaseOver(SendView),
    /// Nothing was changed: another token holds the permission, or none does.
    StaleToken(SendView),
    /// There is no such guard, or it never had such a token.
    Unknown,
}

/// Guards: for the feed.
#[async_trait]
pub trait GuardLog: Send + Sync {
    /// Claims an intent. Of all requests with one intent one gets the permission. A request
    /// that gets it, or learns that the action is done, uses its idempotency key for this
    /// intent; one that is refused leaves the key free.
    async fn claim_guard(&self, request: GuardRequest) -> Result<GuardClaimed, StoreError>;

    /// Records that the action was done. An old token of this guard is accepted too, in
    /// every state: a caller that acted must be able to report it, even after its lease.
    async fn confirm_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
        receipt: Option<Receipt>,
    ) -> Result<GuardReported, StoreError>;

    /// Records that the action was not done, before the lease is over. The intent may be
    /// claimed again, with another token.
    async fn release_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
    ) -> Result<GuardReported, StoreError>;

    /// Extends the permission: from now on it holds for `lease`.
    async fn extend_guard(
        &self,
        guard: GuardId,
        token: ClaimToken,
        lease: Duration,
    ) -> Result<GuardReported, StoreError>;

    /// The guard.
    async fn guard(&self, guard: GuardId) -> Result<Option<SendView>, StoreError>;
}
