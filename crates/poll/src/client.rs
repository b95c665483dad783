//! What a source must be able to answer, and the building blocks for its client.

pub(crate) mod http;
pub(crate) mod imap_login;
pub(crate) mod list_cursor;
pub(crate) mod recipients;

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Reason, Timestamp};

/// A mail that a source lists.
#[derive(Debug, Clone)]
pub(crate) struct ListedMail {
    /// The source's own id of it; it deduplicates the mail.
    pub(crate) id: String,
    /// When it arrived, by the source's clock.
    pub(crate) arrived_at: Option<Timestamp>,
    /// What the client needs to fetch it.
    pub(crate) note: serde_json::Value,
}

/// One page of a source's list.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The mails, in any order.
    pub(crate) items: Vec<ListedMail>,
    /// Where to continue once all of them are recorded.
    pub(crate) cursor: String,
    /// Whether there are more pages now.
    pub(crate) has_more: bool,
}

/// A mail as its delivery stores it.
#[derive(Debug, Clone)]
pub(crate) struct FoundMail {
    /// The content type of the body.
    pub(crate) content_type: &'static str,
    /// The body. If the provider's posts hold the mail, it has the format of such a
    /// post, so that a posted and a polled mail become the same message. Otherwise it
    /// is the raw mail.
    pub(crate) body: Vec<u8>,
    /// An id that stays valid when the listed id does not, if there is one.
    pub(crate) lasting_id: Option<String>,
}

impl FoundMail {
    /// A raw mail.
    pub(crate) fn raw(recipients: &[String], message: &[u8]) -> Self {
        Self {
            content_type: providers::POLLED,
            body: providers::addressed_message(recipients, message),
            lasting_id: None,
        }
    }

    /// A mail that was rebuilt from parsed fields.
    pub(crate) fn rebuilt(recipients: &[String], message: &[u8]) -> Self {
        Self {
            content_type: providers::POLLED_REBUILT,
            ..Self::raw(recipients, message)
        }
    }

    /// The post that the provider would have sent.
    pub(crate) fn post(event: &serde_json::Value) -> Self {
        Self {
            content_type: "application/json",
            body: event.to_string().into_bytes(),
            lasting_id: None,
        }
    }
}

/// The result of fetching one mail.
#[derive(Debug, Clone)]
pub(crate) enum Fetched {
    /// The mail.
    Mail(FoundMail),
    /// It was deleted, or is not inbound mail.
    Gone,
    /// It is larger than the limit.
    TooLarge,
}

/// A source could not be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PollError {
    /// It is unavailable or did not answer in time.
    #[error("the source is unavailable")]
    Unavailable,
    /// It asks for a pause, of this length if it said so.
    #[error("the source is busy")]
    Busy(Option<Duration>),
    /// It refuses the credentials.
    #[error("the source refuses the credentials")]
    Unauthorized,
    /// Its answer does not have the expected form.
    #[error("the source gave an unexpected answer")]
    UnexpectedAnswer,
    /// It redirects or links to a host that is not its own.
    #[error("the source points to a foreign host")]
    ForeignHost,
    /// Its list does not end: a cursor was repeated.
    #[error("the source's list does not end")]
    EndlessList,
    /// Unfinished mail fills the storage quota. The rest stays at the source.
    #[error("unfinished mail fills the storage quota")]
    StorageFull,
}

impl PollError {
    /// The failure as a metric label and a word for the operator.
    pub(crate) fn reason(self) -> Reason {
        Reason::new(match self {
            Self::Unavailable => "poll_away",
            Self::Busy(_) => "poll_busy",
            Self::Unauthorized => "poll_unauthorised",
            Self::UnexpectedAnswer => "poll_odd",
            Self::ForeignHost => "poll_leads_away",
            Self::EndlessList => "poll_endless",
            Self::StorageFull => "storage_full",
        })
    }
}

/// The client of a source that can be polled. One task uses it.
#[async_trait]
pub(crate) trait SourceClient: Send {
    /// The page after a cursor; the first cursor is empty. `now` is our clock's time,
    /// for sources that state none.
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError>;

    /// The newest mails after a cursor, if the next page does not hold them. They are read
    /// first when somebody waits, so that a backlog does not delay a new mail. Sources that
    /// list the newest mail first have none.
    async fn newest(
        &mut self,
        _cursor: &str,
        _now: Timestamp,
    ) -> Result<Vec<ListedMail>, PollError> {
        Ok(Vec::new())
    }

    /// How many requests a page takes at most. The timeout of a page is that of so many
    /// requests.
    fn requests(&self) -> u32 {
        1
    }

    /// How many requests [`Self::newest`] takes at most.
    fn newest_requests(&self) -> u32 {
        self.requests()
    }

    /// The number of the list that a cursor is in. A source of several mailboxes has one list
    /// for each.
    fn list_at(&self, _cursor: &str) -> usize {
        0
    }

    /// Whether the list certainly ends, even after many pages without new mail. The list of a
    /// foreign server may not.
    fn is_finite(&self) -> bool {
        false
    }

    /// Fetches one listed mail.
    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError>;

    /// Where to continue after a failure, if not at the same cursor: page tokens expire,
    /// and a page that cannot be read must not hide newer mails. No mail may be skipped
    /// that was not read.
    fn after_failure(&self, cursor: &str, _error: PollError) -> String {
        cursor.to_owned()
    }

    /// Returns when there may be new mail after the cursor. It may be dropped while it
    /// waits. For a source that announces nothing it never returns.
    async fn wait_for_mail(&mut self, _cursor: &str, _now: Timestamp) -> Result<(), PollError> {
        std::future::pending().await
    }
}
