//! What a source must be able to answer.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Reason, Timestamp};

/// A mail that a source lists.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The source's own id for it: what it is deduplicated by.
    pub(crate) id: String,
    /// When it arrived, by the source's clock.
    pub(crate) arrived_at: Option<Timestamp>,
    /// What the contract wants to remember of it until it is fetched.
    pub(crate) note: serde_json::Value,
}

/// One answer to "what is there behind this cursor?".
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The mails, in any order.
    pub(crate) items: Vec<Item>,
    /// Where to go on once all of them are recorded.
    pub(crate) cursor: String,
    /// Whether there is more to be had right now.
    pub(crate) has_more: bool,
}

/// A mail as its delivery will keep it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// How to read the body.
    pub(crate) content_type: &'static str,
    /// The body: in the shape of the provider's post where that carries the
    /// mail, so that both paths lead to the same message; otherwise the raw mail.
    pub(crate) body: Vec<u8>,
    /// An id that outlives the listed one, if there is such.
    pub(crate) lasting_id: Option<String>,
}

impl Found {
    /// A raw mail.
    pub(crate) fn raw(recipients: &[String], message: &[u8]) -> Self {
        Self {
            content_type: providers::POLLED,
            body: providers::polled(recipients, message),
            lasting_id: None,
        }
    }

    /// What the provider would have posted.
    pub(crate) fn post(event: &serde_json::Value) -> Self {
        Self {
            content_type: "application/json",
            body: event.to_string().into_bytes(),
            lasting_id: None,
        }
    }
}

/// What came of asking for one mail.
#[derive(Debug, Clone)]
pub(crate) enum Fetched {
    /// Here it is.
    Mail(Found),
    /// It is gone, or not about inbound mail.
    Gone,
    /// It is longer than any we take.
    TooLarge,
}

/// A source did not answer as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PullError {
    /// It is away, or did not answer in time.
    #[error("the source is away")]
    Away,
    /// It wants to be left alone, for this long if it said so.
    #[error("the source is busy")]
    Busy(Option<Duration>),
    /// It does not accept our credentials.
    #[error("the source does not accept the credentials")]
    Unauthorised,
    /// It answers with something that the contract does not know.
    #[error("the source answers with something else")]
    Odd,
    /// It leads to hosts that are not its own.
    #[error("the source leads elsewhere")]
    LeadsAway,
    /// Its list does not end: a cursor came twice.
    #[error("the source's list does not end")]
    Endless,
}

impl PullError {
    /// The failure as a word for meters and the operator.
    pub(crate) fn reason(self) -> Reason {
        Reason::new(match self {
            Self::Away => "poll_away",
            Self::Busy(_) => "poll_busy",
            Self::Unauthorised => "poll_unauthorised",
            Self::Odd => "poll_odd",
            Self::LeadsAway => "poll_leads_away",
            Self::Endless => "poll_endless",
        })
    }
}

/// A source that can be asked for its mail. It is asked by one task, in turn.
#[async_trait]
pub(crate) trait Pull: Send {
    /// What is there behind a cursor; the first one is empty. `now` is our
    /// clock's time, for sources that tell none.
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PullError>;

    /// One listed mail.
    async fn fetch(&mut self, item: &Item) -> Result<Fetched, PullError>;

    /// Where to go on after a failure, if not at the same cursor: pages expire, and
    /// one that cannot be read must not hide what has come before it meanwhile.
    /// Nothing may be passed by that was not read.
    fn after_failure(&self, cursor: &str, _error: PullError) -> String {
        cursor.to_owned()
    }

    /// Returns when there may be something new behind the cursor; safe to drop
    /// while it waits. A source that cannot tell never returns.
    async fn news(&mut self, _cursor: &str) -> Result<(), PullError> {
        std::future::pending().await
    }
}
