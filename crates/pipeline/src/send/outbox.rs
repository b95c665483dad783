//! The outbox: for the process that hands sends to their providers.
//!
//! Claim and dispatch are two commits. A process that dies between them has sent nothing,
//! so the send is `ready` again; one that dies after the dispatch may have sent it, so
//! the send is `uncertain`. Nothing is ever dispatched twice from `dispatched`.

use std::time::Duration;

use async_trait::async_trait;

use crate::{ClaimToken, InboxWatch, Reason, SendId, StoreError};

use super::action::{Receipt, SenderName};
use super::intent::{ProviderKey, Recipient};
use super::log::SendPayload;
use super::view::SendState;

/// A process's right to work on a send, until its lease is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendClaim {
    /// The send.
    pub send: SendId,
    /// The fencing token: a write requires that the row still has it.
    pub token: ClaimToken,
}

/// A send that a process has claimed.
#[derive(Debug, Clone)]
pub struct ClaimedSend {
    /// The right to work on it.
    pub claim: SendClaim,
    /// The configured sender.
    pub sender: SenderName,
    /// The configured provider at the time it was asked for.
    pub provider: String,
    /// The key that the provider recognises a repetition by.
    pub key: ProviderKey,
    /// To whom it is sent.
    pub to: Recipient,
    /// The `Message-ID` of the mail, without angle brackets.
    pub message_id: String,
    /// The request to the provider, as it was rendered once.
    pub payload: SendPayload,
    /// How often it was dispatched before.
    pub tries: u32,
    /// How often it was looked up or replayed since it is `uncertain`.
    pub settle_tries: u32,
    /// The age of the send.
    pub age: Duration,
    /// Time since its first dispatch.
    pub since_first_dispatch: Option<Duration>,
}

/// The outcome of asking to dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendPermit {
    /// It is committed that the send may have been sent. Hand it to the provider now.
    Go,
    /// The claim is lost, or its lease ends before the provider's timeout. Send nothing.
    Lost,
    /// The time in which the provider recognises the key is over. Send nothing.
    WindowOver,
}

/// What a provider's answer to a dispatch means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendResult {
    /// The provider accepted it.
    Sent(Option<Receipt>),
    /// Nothing was sent, and a retry after this wait may work.
    NotSent(Duration, Reason),
    /// Nothing was sent now, and a retry cannot work. The send has failed; if an earlier
    /// dispatch may have been sent, it is `uncertain` until the operator settles it.
    Refused(Reason),
    /// It may have been sent. It is looked up, or sent again under its key, after this
    /// wait.
    Maybe(Duration, Reason),
}

/// What was found out about a send that is `uncertain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The provider has it.
    Sent(Option<Receipt>),
    /// Nothing was proved. The sender is configured with `on_uncertain = "retry"`, so the send
    /// is made `ready` again. The store remembers that it may have been sent.
    Retry(Reason),
    /// Nothing was proved. It stays `uncertain` and is looked at again after this wait;
    /// without a wait only the operator settles it.
    Unknown(Option<Duration>, Reason),
}

/// The outcome of writing a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendWritten {
    /// It is written; this is the state now.
    Done(SendState),
    /// The proof that it was sent came late, from a send in this state. If that was
    /// `ready`, `failed` or `cancelled`, it was settled wrongly before.
    Late(SendState),
    /// The claim is lost, or there is no such send; nothing was written.
    Lost,
}

/// How many rows the end of leases has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExpiredLeases {
    /// Claims without a dispatch: they are `ready` again.
    pub ready: u64,
    /// Dispatches without a result: they are `uncertain`.
    pub uncertain: u64,
    /// Held sends that were not approved in time: they are cancelled.
    pub cancelled: u64,
}

/// The number of sends in a state, and the age of the oldest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendCount {
    /// The state.
    pub state: SendState,
    /// How many.
    pub count: u64,
    /// How long the oldest of them has been in this table.
    pub oldest: Duration,
}

/// The outbox: for the process that hands sends to their providers.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Claims up to `limit` sends that are `ready` and due, for `lease` each. Only sends
    /// of these senders.
    async fn claim_ready(
        &self,
        senders: &[SenderName],
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<ClaimedSend>, StoreError>;

    /// Begins to watch for sends of this sender that become `ready` and are due at once,
    /// whichever process records them. Start the watch before claiming. A notification
    /// may be lost, so look from time to time.
    fn watch_ready(&self, sender: &SenderName) -> Box<dyn InboxWatch>;

    /// Commits that a claimed send is dispatched. Only after [`SendPermit::Go`] may a byte
    /// of it leave. `timeout` is the longest time that the provider's answer may take; the
    /// lease must last longer.
    async fn dispatch(&self, claim: SendClaim, timeout: Duration)
    -> Result<SendPermit, StoreError>;

    /// Writes what the provider's answer means. `Sent` is accepted in every state and
    /// under every token; all else only under the claim of the dispatch.
    async fn end_dispatch(
        &self,
        claim: SendClaim,
        result: SendResult,
    ) -> Result<SendWritten, StoreError>;

    /// Ends all leases that are over, and cancels held sends that were not approved in
    /// time.
    async fn expire_leases(&self) -> Result<ExpiredLeases, StoreError>;

    /// Claims up to `limit` sends that are `uncertain` and due to be settled, for `lease`
    /// each. They stay `uncertain`.
    async fn claim_uncertain(
        &self,
        senders: &[SenderName],
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<ClaimedSend>, StoreError>;

    /// Commits that an uncertain send is handed to its provider again, under the same key
    /// and with the same bytes. Only within `window` after its first dispatch.
    async fn permit_replay(
        &self,
        claim: SendClaim,
        timeout: Duration,
        window: Duration,
    ) -> Result<SendPermit, StoreError>;

    /// Writes what was found out about an uncertain send. `Sent` is accepted in every
    /// state and under every token.
    async fn settle(
        &self,
        claim: SendClaim,
        settlement: Settlement,
    ) -> Result<SendWritten, StoreError>;

    /// How many sends and guards are in which state that is not final, for the meters.
    async fn count_sends(&self) -> Result<Vec<SendCount>, StoreError>;
}
