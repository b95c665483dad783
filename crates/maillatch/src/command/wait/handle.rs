//! The attempt that a wait holds open.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};

use super::Search;
use client::{Attempt, AttemptConsumption, CallError, FinishAnswer};

/// The timeout of each request at the end of a wait, when the user already waits for
/// the process to exit.
const LAST_TIMEOUT: Duration = Duration::from_secs(1);

/// How much longer than the wait the attempt is open, so that its state can be read
/// at the end.
const MARGIN: Duration = Duration::from_secs(5);

/// How long the attempt of a process that was killed stays open, and receives the mail
/// of the next wait.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The longest request while an attempt is open. After it the attempt is renewed.
const BEAT: Duration = Duration::from_secs(3);

/// The same for the first request. The renewal also looks for mail that arrived before the
/// attempt was opened and was processed after it.
const FIRST_BEAT: Duration = Duration::from_secs(1);

/// The attempt of one wait. Mail from before the wait counts, too, so a wait that opens
/// another attempt after an outage misses nothing.
#[derive(Default)]
pub(super) struct Handle {
    /// The names of the attempt and of its consume. They are chosen before the first
    /// request: if an answer is lost, the same names return it again.
    names: Names,
    /// The attempt as it was opened or renewed last.
    current: Option<Renewed>,
    /// Whether a request to open it was sent.
    was_asked: bool,
    /// When the first attempt of this wait was opened, as the server says.
    pub(super) opened_at: Option<String>,
}

struct Names {
    reference: String,
    consume_key: String,
}

impl Default for Names {
    fn default() -> Self {
        let fresh = || uuid::Uuid::now_v7().simple().to_string();
        Self {
            reference: format!("wait-{}", fresh()),
            consume_key: fresh(),
        }
    }
}

struct Renewed {
    id: String,
    /// When it ends, as the server says.
    deadline: String,
    /// When the request was sent.
    at: Instant,
    /// When it is due to be renewed.
    beat: Duration,
    /// Whether it ended because the server could not be reached in time.
    has_lapsed: bool,
}

impl Handle {
    /// Waits for the value of the attempt and consumes it. The attempt is opened if it is
    /// not, and renewed when that is due. One that has lapsed is asked a last time, for a
    /// value whose answer was lost; the next call opens another one.
    pub(super) async fn consume(
        &mut self,
        search: &Search<'_>,
        left: Duration,
    ) -> Result<AttemptConsumption, CallError> {
        self.keep_open(search, left).await?;
        let Some(current) = &self.current else {
            return Err(CallError::Unavailable);
        };
        let Renewed { id, has_lapsed, .. } = current;
        let wait = if *has_lapsed {
            Duration::ZERO
        } else {
            // The server counts whole seconds. Half a second more is better than a busy loop.
            left.min(current.beat) + Duration::from_millis(500)
        };
        let key = &self.names.consume_key;
        let consumed = search.client.consume_attempt(id, key, wait).await?;
        if *has_lapsed && matches!(consumed, AttemptConsumption::NotReady(_)) {
            *self = Self {
                opened_at: self.opened_at.take(),
                ..Self::default()
            };
        }
        Ok(consumed)
    }

    /// Opens the attempt, or renews it when that is due or no time is left.
    async fn keep_open(&mut self, search: &Search<'_>, left: Duration) -> Result<(), CallError> {
        let is_due = |current: &Renewed| left.is_zero() || current.at.elapsed() >= current.beat;
        if !self.current.as_ref().is_none_or(is_due) {
            return Ok(());
        }
        let mut renewed = self.ask(search).await?;
        if let Some(before) = &self.current {
            let is_late = before.at.elapsed() >= HEARTBEAT;
            renewed.beat = BEAT;
            renewed.has_lapsed =
                before.has_lapsed || (is_late && before.deadline == renewed.deadline);
        }
        self.current = Some(renewed);
        Ok(())
    }

    /// Opens the attempt or renews it: the same request does both.
    async fn ask(&mut self, search: &Search<'_>) -> Result<Renewed, CallError> {
        let at = Instant::now();
        self.was_asked = true;
        let request = json!({
            "kind": search.kind.as_str(),
            "inbox": search.inbox.as_str(),
            "earlier": true,
            "from": search.from_domain.map(|domain| vec![domain]).unwrap_or_default(),
            "heartbeat": HEARTBEAT.as_secs(),
            "deadline": (search.timeout + MARGIN).as_secs().min(86_400),
            "resends": 0,
            "require": search.verified.then_some("verified"),
            "reference": self.names.reference,
        });
        let opened = search.client.open_attempt(&request).await?;
        self.opened_at.get_or_insert(opened.opened_at);
        Ok(Renewed {
            id: opened.id,
            deadline: opened.deadline,
            at,
            beat: FIRST_BEAT,
            has_lapsed: false,
        })
    }

    /// Finishes the attempt if it may be open. Otherwise it would receive the mail of
    /// the next wait until its deadline.
    pub(super) async fn finish(&mut self, search: &Search<'_>, outcome: &str) -> Option<Attempt> {
        let finish = async {
            let id = match &self.current {
                Some(current) => current.id.clone(),
                None if !self.was_asked => return None,
                None => self.ask(search).await.ok()?.id,
            };
            match search.client.finish_attempt(&id, outcome).await {
                Ok(FinishAnswer::Finished(attempt)) => Some(*attempt),
                Ok(FinishAnswer::OtherOutcome) | Err(_) => None,
            }
        };
        timeout(LAST_TIMEOUT, finish).await.ok().flatten()
    }
}
