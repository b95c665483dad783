//! The attempt that a wait holds open.

use std::time::Duration;

use pipeline::GIVEN_TO_ANOTHER_ATTEMPT;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::Search;
use super::miss::Miss;
use client::{Attempt, FinishAnswer};

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
pub(super) const BEAT: Duration = Duration::from_secs(3);

/// The attempt of one wait.
#[derive(Default)]
pub(super) struct Handle {
    /// Its reference, chosen before it is opened. If the answer with the id is lost,
    /// the same reference returns the same attempt.
    reference: Option<String>,
    /// The attempt as it was opened or renewed last.
    current: Option<Renewed>,
    /// Earlier attempts of this wait. They ended because the server could not be reached.
    lapsed: Vec<String>,
}

struct Renewed {
    id: String,
    /// When it ends, as the server says.
    deadline: String,
    /// When the request was sent.
    at: Instant,
}

impl Handle {
    /// Its id, once it is known.
    pub(super) fn attempt(&self) -> Option<&str> {
        self.current.as_ref().map(|current| current.id.as_str())
    }

    /// Whether an attempt belongs to this wait.
    pub(super) fn is_own(&self, attempt: &str) -> bool {
        self.attempt() == Some(attempt) || self.lapsed.iter().any(|id| id == attempt)
    }

    /// Opens the attempt, or renews it when that is due. Another one is opened when it
    /// has ended, because the server could not be reached in time. A key that may not
    /// open attempts waits without one. Mail that arrived since the last page is on the
    /// next one, so nothing is missed.
    pub(super) async fn keep_open(&mut self, search: &Search<'_>) {
        let is_due = |current: &Renewed| current.at.elapsed() >= BEAT;
        if !self.current.as_ref().is_none_or(is_due) {
            return;
        }
        let Some(renewed) = self.ask(search).await else {
            return;
        };
        let has_lapsed = |before: &Renewed| {
            before.at.elapsed() >= HEARTBEAT && before.deadline == renewed.deadline
        };
        if self.current.as_ref().is_some_and(has_lapsed) {
            self.lapsed.push(renewed.id);
            (self.reference, self.current) = (None, None);
            self.current = self.ask(search).await;
        } else {
            self.current = Some(renewed);
        }
    }

    /// Opens the attempt or renews it: the same request does both.
    async fn ask(&mut self, search: &Search<'_>) -> Option<Renewed> {
        let at = Instant::now();
        let reference = self
            .reference
            .get_or_insert_with(|| format!("wait-{}", uuid::Uuid::now_v7().simple()));
        let request = json!({
            "kind": search.kind.as_str(),
            "inbox": search.inbox.as_str(),
            "from": search.from_domain.map(|domain| vec![domain]).unwrap_or_default(),
            "heartbeat": HEARTBEAT.as_secs(),
            "deadline": (search.timeout + MARGIN).as_secs().min(86_400),
            "resends": 0,
            "require": search.verified.then_some("verified"),
            "reference": reference,
        });
        let Attempt { id, deadline, .. } = search.client.open_attempt(&request).await.ok()?;
        Some(Renewed { id, deadline, at })
    }

    /// Finishes the attempt if it may be open. Otherwise it would receive the mail of
    /// the next wait until its deadline.
    pub(super) async fn finish(&mut self, search: &Search<'_>, outcome: &str) -> Option<Attempt> {
        let finish = async {
            if self.reference.is_some() && self.current.is_none() {
                self.current = self.ask(search).await;
            }
            let id = self.attempt()?;
            match search.client.finish_attempt(id, outcome).await {
                Ok(FinishAnswer::Finished(attempt)) => Some(*attempt),
                Ok(FinishAnswer::OtherOutcome) | Err(_) => None,
            }
        };
        timeout(LAST_TIMEOUT, finish).await.ok().flatten()
    }

    /// Finishes the attempt and returns what the server knows about mail that the feed
    /// does not show.
    pub(super) async fn finish_and_explain(&mut self, search: &Search<'_>) -> Option<Miss> {
        let component = self.unhealthy(search).await;
        let ended = self.finish(search, "abandoned").await?;
        let reason = ended.reason;
        match ended.state.as_str() {
            _ if component.is_some() => Some(Miss::Unhealthy { component }),
            "blocked" => Some(Miss::Withheld { reason }),
            "no_artifact" if reason.as_deref() == Some(GIVEN_TO_ANOTHER_ATTEMPT.as_str()) => {
                Some(Miss::GivenAway { attempt: None })
            }
            "no_artifact" => Some(Miss::NoArtifact { reason }),
            _ => None,
        }
    }

    /// The part of the server that is unhealthy, according to the open attempt.
    async fn unhealthy(&self, search: &Search<'_>) -> Option<String> {
        let attempt = search.client.attempt(self.attempt()?, Duration::ZERO);
        let attempt = timeout(LAST_TIMEOUT, attempt).await;
        attempt.ok()?.ok()?.component
    }
}
