//! From the configuration to the sources that are polled.

use std::collections::BTreeMap;
use std::time::Duration;

use pipeline::{Reason, SourceName, Timestamp};
use providers::{SourceSettings, Sources};

use crate::client::{PollError, SourceClient};
use crate::flaw::PollFlaw;
use crate::inbox_filter::InboxFilter;
use crate::provider;
use crate::settings::Settings;

/// A source cannot be polled as configured.
#[derive(Debug, thiserror::Error)]
#[error("source `{source_name}` cannot be polled")]
pub struct PolledSourcesError {
    /// The source's name.
    pub source_name: String,
    /// What is wrong with its settings.
    #[source]
    pub flaw: PollFlaw,
}

/// A source that is polled.
pub(crate) struct PolledSource {
    pub(crate) source: SourceName,
    pub(crate) client: Box<dyn SourceClient>,
    /// The time between two routine rounds.
    pub(crate) every: Duration,
    /// The inboxes whose mail it can hold.
    pub(crate) inboxes: InboxFilter,
    /// Whether its mail comes by polling alone.
    pub(crate) is_poll_only: bool,
}

/// Every source that is polled.
pub struct PolledSources(Vec<PolledSource>);

impl PolledSources {
    /// Builds a client for every source that has a `poll` table.
    pub fn build(
        configured: &BTreeMap<String, SourceSettings>,
        sources: &Sources,
        settings: &Settings,
    ) -> Result<Self, PolledSourcesError> {
        let mut polled = Vec::new();
        for (name, source) in configured {
            let (Some(poll), Some(built)) = (&source.poll, sources.get(name)) else {
                continue;
            };
            let contract = built.contract();
            let client = match contract.polling {
                Some(polling) => provider::build(polling.client, poll, built.api(), settings),
                None => Err(PollFlaw::NoPolling),
            };
            let client = client.map_err(|flaw| PolledSourcesError {
                source_name: name.clone(),
                flaw,
            })?;
            polled.push(PolledSource {
                source: built.name().clone(),
                client,
                every: poll
                    .every_seconds
                    .map_or(settings.every, Duration::from_secs),
                inboxes: InboxFilter::of(built, source),
                is_poll_only: contract.is_poll_only(),
            });
        }
        Ok(Self(polled))
    }

    /// The names of the polled sources.
    pub fn names(&self) -> impl Iterator<Item = &SourceName> {
        self.0.iter().map(|polled| &polled.source)
    }

    /// Asks one source for its list, and records nothing. Returns how many mails the first
    /// page lists, or why the source cannot be polled; `None` if no such source is polled.
    pub async fn try_list(
        self,
        name: &SourceName,
        now: Timestamp,
        timeout: Duration,
    ) -> Option<Result<usize, Reason>> {
        let mut polled = self.0.into_iter().find(|polled| polled.source == *name)?;
        let timeout = timeout.saturating_mul(polled.client.requests());
        let listed = tokio::time::timeout(timeout, polled.client.list("", now)).await;
        let listed = listed.unwrap_or(Err(PollError::Unavailable));
        Some(match listed {
            Ok(page) => Ok(page.items.len()),
            Err(error) => Err(error.reason()),
        })
    }

    pub(crate) fn into_sources(self) -> Vec<PolledSource> {
        self.0
    }
}
