//! A callback: a value that goes to a workflow of the operator's instead of to
//! whoever opened the attempt.
//!
//! The artifact is consumed in the callback's name when it arrives; what is left
//! to do is to tell the receiver, as often as it takes, always under one id and
//! with one body.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use crate::{ArtifactView, AttemptId, CallbackId, ClaimToken, Reason, StoreError, Timestamp};

/// A value to tell, claimed by one worker for a while.
#[derive(Debug)]
pub struct Callback {
    /// What the receiver deduplicates by.
    pub id: CallbackId,
    /// The right to end this try.
    pub token: ClaimToken,
    /// The configured name of the receiver.
    pub name: String,
    /// The attempt it is for.
    pub attempt: AttemptId,
    /// All but the value.
    pub artifact: ArtifactView,
    /// The code or the link.
    pub value: SecretString,
    /// The field of the link that is told in place of the link.
    pub field: Option<String>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// How much time is left to tell it.
    pub remaining: Duration,
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackResult {
    /// The receiver has it.
    Done,
    /// Not yet; it is tried again after the wait.
    RetryLater(Duration, Reason),
    /// It is given up.
    Dead(Reason),
}

/// How far a value is on its way to its callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackState {
    /// The receiver has not taken it yet.
    Pending,
    /// The receiver has it.
    Done,
    /// It was given up; nobody has it.
    Dead,
}

impl CallbackState {
    /// What is behind a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Self::Pending),
            "done" => Some(Self::Done),
            "dead" => Some(Self::Dead),
            _ => None,
        }
    }
}

/// A callback that was given up, as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadCallback {
    /// Its row.
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
    /// Claims up to `limit` callbacks that are due, each for `lease`, and counts
    /// the try; none for those who are `busy`.
    async fn claim_callbacks(
        &self,
        limit: u32,
        lease: Duration,
        busy: &[String],
    ) -> Result<Vec<Callback>, StoreError>;

    /// Ends a try; false when the lease had passed to somebody else.
    async fn end_callback(
        &self,
        callback: CallbackId,
        token: ClaimToken,
        told: CallbackResult,
    ) -> Result<bool, StoreError>;

    /// Has a callback that was given up told again, from its first try, while its value
    /// is good; false when there is no such callback, or nothing to tell any more.
    async fn requeue_callback(&self, callback: CallbackId) -> Result<bool, StoreError>;

    /// Up to `limit` callbacks that were given up, newest first.
    async fn dead_callbacks(&self, limit: u32) -> Result<Vec<DeadCallback>, StoreError>;
}
