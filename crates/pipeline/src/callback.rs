//! A callback: the value is sent to a URL of the operator instead of to the agent that
//! opened the attempt.
//!
//! The database consumes the artifact in the callback's name when it arrives. A worker
//! then posts the value until the receiver accepts it, always with the same id and the
//! same body.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::{ArtifactView, AttemptId, CallbackId, ClaimToken, Reason, StoreError, Timestamp};

/// A value to send, claimed by one worker until its lease expires.
#[derive(Debug)]
pub struct Callback {
    /// The id by which the receiver detects duplicates.
    pub id: CallbackId,
    /// The fencing token of the claim.
    pub token: ClaimToken,
    /// The configured name of the receiver.
    pub name: String,
    /// The attempt it is for.
    pub attempt: AttemptId,
    /// The artifact without its value.
    pub artifact: ArtifactView,
    /// The code or the link.
    pub value: SecretString,
    /// The field of the link that is sent instead of the link.
    pub field: Option<String>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// How much time is left to send it.
    pub remaining: Duration,
}

/// How one try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackResult {
    /// The receiver accepted it.
    Done,
    /// It failed and is tried again after this wait.
    RetryLater(Duration, Reason),
    /// It is given up for good.
    Dead(Reason),
}

/// The state of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackState {
    /// The receiver has not accepted it yet.
    Pending,
    /// The receiver accepted it.
    Done,
    /// It was given up; nobody received the value.
    Dead,
}

impl CallbackState {
    /// The state with this stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Self::Pending),
            "done" => Some(Self::Done),
            "dead" => Some(Self::Dead),
            _ => None,
        }
    }
}

/// A callback that was given up, as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadCallback {
    /// The id of its row.
    pub id: CallbackId,
    /// The configured name of the receiver.
    pub name: String,
    /// The attempt it was for.
    pub attempt: AttemptId,
    /// How often it was tried.
    pub tries: u32,
    /// Why the last try failed.
    pub reason: Reason,
    /// When it was given up.
    pub at: Timestamp,
}

/// Callbacks, for the worker and the operator.
#[async_trait]
pub trait CallbackLog: Send + Sync {
    /// Claims up to `limit` due callbacks for `lease` each and counts the try. Skips
    /// the receivers named in `busy`.
    async fn claim_callbacks(
        &self,
        limit: u32,
        lease: Duration,
        busy: &[String],
    ) -> Result<Vec<Callback>, StoreError>;

    /// Ends a try. False when the lease expired and another worker claimed it.
    async fn end_callback(
        &self,
        callback: CallbackId,
        token: ClaimToken,
        result: CallbackResult,
    ) -> Result<bool, StoreError>;

    /// Retries a callback that was given up, from its first try. False when there is no
    /// such callback, or its value is no longer usable.
    async fn requeue_callback(&self, callback: CallbackId) -> Result<bool, StoreError>;

    /// Up to `limit` callbacks that were given up, newest first.
    async fn dead_callbacks(&self, limit: u32) -> Result<Vec<DeadCallback>, StoreError>;
}
