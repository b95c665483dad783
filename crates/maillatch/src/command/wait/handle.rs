//! The attempt that a wait holds open, from before it is there until it has ended.

use std::time::Duration;

use pipeline::GIVEN_TO_ANOTHER_ATTEMPT;
use serde_json::json;
use tokio::time::timeout;

use super::Search;
use super::miss::Miss;
use crate::client::{Attempt, Ended};

/// How long a server may take for each of the last questions. Who waits for the end
/// of this process has been told already that there is nothing.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// How much longer it is open than the wait lasts, so that it can still be asked at
/// the end how it stands.
const MARGIN: Duration = Duration::from_secs(5);

/// An attempt of a wait's own.
#[derive(Default)]
pub(super) struct Handle {
    /// Our word for it, from before it is asked for: an attempt whose id was lost
    /// on the way is found again by it.
    reference: Option<String>,
    id: Option<String>,
}

impl Handle {
    /// Its id, once it is known.
    pub(super) fn attempt(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Opens it unless it is open. A key that may not open attempts waits without
    /// one. What came since the last page is on the next one, so nothing is missed.
    pub(super) async fn open(&mut self, search: &Search<'_>) {
        if self.id.is_some() {
            return;
        }
        let reference = self
            .reference
            .get_or_insert_with(|| format!("wait-{}", uuid::Uuid::now_v7().simple()));
        let wish = json!({
            "kind": search.kind.as_str(),
            "inbox": search.inbox.as_str(),
            "from": search.from_domain.map(|domain| vec![domain]).unwrap_or_default(),
            "deadline": (search.timeout + MARGIN).as_secs().min(86_400),
            "resends": 0,
            "require": search.verified.then_some("verified"),
            "reference": reference,
        });
        let opened = search.client.open_attempt(&wish).await;
        self.id = opened.ok().map(|attempt| attempt.id);
    }

    /// Says how it ended, if it may be open. It ends by itself at its deadline, too,
    /// but until then it would get the mail of whoever waits next.
    pub(super) async fn finish(&mut self, search: &Search<'_>, outcome: &str) -> Option<Attempt> {
        let finish = async {
            if self.reference.is_some() {
                self.open(search).await;
            }
            let id = self.id.as_deref()?;
            match search.client.finish_attempt(id, outcome).await {
                Ok(Ended::Finished(attempt)) => Some(*attempt),
                Ok(Ended::Otherwise) | Err(_) => None,
            }
        };
        timeout(LAST_PATIENCE, finish).await.ok().flatten()
    }

    /// Ends it, and tells what the server knows of mail that the feed does not show.
    pub(super) async fn last_words(&mut self, search: &Search<'_>) -> Option<Miss> {
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

    /// Which part of the server is not well, as long as it may be asked.
    async fn unhealthy(&self, search: &Search<'_>) -> Option<String> {
        let standing = search.client.attempt(self.attempt()?, Duration::ZERO);
        let standing = timeout(LAST_PATIENCE, standing).await;
        standing.ok()?.ok()?.component
    }
}
