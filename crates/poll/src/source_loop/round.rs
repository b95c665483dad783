//! One round: reads a source's list page by page, and records its new mails together with
//! the cursor, within limits of pages, time and memory.

mod answer;
mod save;

use std::collections::HashSet;
use std::time::Duration;

use futures_util::FutureExt;
use pipeline::{DeliveryKey, Lease, Leased, SourceLabel, SourceName, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::answer::{in_time, while_held};
use self::save::{delivery, save};
use crate::client::{Fetched, ListedMail, Page, PollError, SourceClient};
use crate::deps::Deps;
use crate::meters::Skipped;

/// The most mails that are recorded in one transaction.
const BATCH: usize = 64;
/// The bytes of mails in memory after which they are recorded.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How many mails of one page may fail before the round ends.
const MOST_FAILED: u32 = 3;
/// How far a source's clock may be ahead of ours before a warning is logged.
const AHEAD: Duration = Duration::from_mins(5);

/// The counts of a round that did not fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Mails that were listed.
    pub(crate) listed: u64,
    /// Listed mails that were new.
    pub(crate) unseen: u64,
    /// Deliveries that were recorded.
    pub(crate) recorded: u64,
    /// New mails that were left out because they are too large.
    pub(crate) too_large: u64,
    /// Whether the list has more than one round may read.
    pub(crate) is_incomplete: bool,
}

/// Why a round failed.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The source could not be polled.
    Source(PollError),
    /// Some mails could not be fetched. Other mails of the source are not delayed by it.
    Mail(PollError),
    /// Another poller holds the lease now; nothing more was written.
    Lost,
    /// The database is unavailable. The next round continues from the last commit.
    StoreUnavailable(StoreError),
}

impl From<PollError> for Stop {
    fn from(error: PollError) -> Self {
        Self::Source(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::StoreUnavailable(error)
    }
}

/// The name of the task that polls a source.
pub(crate) fn task_of(source: &SourceName) -> String {
    format!("poller of {source}")
}

/// Notes that the task of a source does something. It does so at least as often as it
/// renews its lease, except while the source answers.
pub(crate) fn note_round(deps: &Deps, source: &SourceName) {
    let settings = &deps.settings;
    let within = 3 * settings.lease + settings.answer_budget;
    deps.tasks.round(&task_of(source), within);
}

/// A lease and when it was last renewed.
pub(crate) struct HeldLease {
    pub(crate) lease: Lease,
    renewed: Instant,
}

impl HeldLease {
    pub(crate) fn new(lease: Lease) -> Self {
        let renewed = Instant::now();
        Self { lease, renewed }
    }

    /// Renews the lease when it is time to; fails if it was lost.
    pub(crate) async fn renew(&mut self, deps: &Deps) -> Result<(), Stop> {
        note_round(deps, &self.lease.source);
        if self.renewed.elapsed() < deps.settings.renewal_interval() {
            return Ok(());
        }
        let asked = Instant::now();
        let span = deps.settings.lease;
        let again = deps.polls.lease(&self.lease.source, deps.poller, span);
        match again.await? {
            // Another fence means that the lease expired in between, and that another
            // poller may have moved the cursor.
            Leased::Yours(lease) if lease.fence == self.lease.fence => {
                self.renewed = asked;
                Ok(())
            }
            Leased::Yours(_) | Leased::Held => Err(Stop::Lost),
        }
    }
}

/// Reads everything after the cursor of a source, within the limits of a round. When
/// `awaited` is notified, the newest mails are read before the next page. `progress` is
/// called after every page.
pub(crate) async fn round(
    deps: &Deps,
    client: &mut dyn SourceClient,
    held: &mut HeldLease,
    awaited: &Notify,
    progress: &mut (dyn FnMut(&Tally) + Send),
) -> Result<Tally, Stop> {
    let deadline = Instant::now() + deps.settings.round_budget;
    let mut tally = Tally::default();
    let mut cursors = HashSet::from([held.lease.cursor.clone()]);
    let list = client.list_at(&held.lease.cursor);
    for _ in 0..deps.settings.pages {
        if Instant::now() >= deadline {
            tally.is_incomplete = true;
            return Ok(tally);
        }
        if !deps.quota.has_room(&held.lease.source) {
            return Err(PollError::StorageFull.into());
        }
        held.renew(deps).await?;
        if awaited.notified().now_or_never().is_some() {
            record_newest(deps, client, held, &mut tally).await?;
        }
        let (requests, cursor) = (client.requests(), held.lease.cursor.clone());
        let asked = client.list(&cursor, deps.clock.now());
        let page = match while_held(deps, held, requests, asked).await? {
            Ok(page) => page,
            Err(error) => return Err(end_failed(deps, client, held, error).await),
        };
        let (cursor, has_more) = (page.cursor.clone(), page.has_more);
        record_page(deps, client, held, page, &mut tally).await?;
        progress(&tally);
        if !has_more {
            return Ok(tally);
        }
        if !cursors.insert(cursor) {
            return Err(end_failed(deps, client, held, PollError::EndlessList).await);
        }
    }
    // A backlog takes several rounds, and so do many mailboxes. A list that stays the same, has
    // no new mail and may have no end is not a backlog.
    let is_same_list = client.list_at(&held.lease.cursor) == list;
    if tally.unseen == 0 && is_same_list && !client.is_finite() {
        return Err(PollError::EndlessList.into());
    }
    tally.is_incomplete = true;
    Ok(tally)
}

/// Records the newest mails after the cursor, which stays where it is. The pages that
/// follow list them again, and then they are duplicates.
async fn record_newest(
    deps: &Deps,
    client: &mut dyn SourceClient,
    held: &mut HeldLease,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let (requests, cursor) = (client.newest_requests(), held.lease.cursor.clone());
    let asked = client.newest(&cursor, deps.clock.now());
    let items = match while_held(deps, held, requests, asked).await? {
        Ok(items) => items,
        Err(error) => return Err(end_failed(deps, client, held, error).await),
    };
    let has_more = true;
    let page = Page {
        items,
        cursor,
        has_more,
    };
    record_page(deps, client, held, page, tally).await
}

/// Ends a failed round: saves the cursor at which the next one begins.
async fn end_failed(
    deps: &Deps,
    client: &mut dyn SourceClient,
    held: &mut HeldLease,
    error: PollError,
) -> Stop {
    let cursor = client.after_failure(&held.lease.cursor, error);
    match save(deps, held, Vec::new(), cursor).await {
        Ok(_) => Stop::Source(error),
        Err(stop) => stop,
    }
}

/// Records the mails of a page, and the next cursor with the last of them. If a mail
/// cannot be fetched, the others are recorded and the cursor stays before the page.
async fn record_page(
    deps: &Deps,
    client: &mut dyn SourceClient,
    held: &mut HeldLease,
    page: Page,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let key = |item: &ListedMail| DeliveryKey::from_poll(&held.lease.source, &item.id);
    let keys: Vec<DeliveryKey> = page.items.iter().map(key).collect();
    let unseen: HashSet<DeliveryKey> = deps.polls.unseen(&keys).await?.into_iter().collect();
    tally.listed += keys.len() as u64;
    tally.unseen += unseen.len() as u64;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let (mut failure, mut failed) = (None, 0);
    for (item, key) in page.items.iter().zip(&keys) {
        if !unseen.contains(key) {
            continue;
        }
        held.renew(deps).await?;
        let fetched = in_time(deps.settings.answer_budget, client.fetch(item)).await;
        match fetched {
            Ok(Fetched::Mail(found)) => {
                bytes += found.body.len();
                warn_if_ahead(deps, held, item);
                batch.push(delivery(&held.lease, item, found));
            }
            Ok(Fetched::Gone) => skip(deps, held, "gone"),
            Ok(Fetched::TooLarge) => {
                tally.too_large += 1;
                skip(deps, held, "too_large");
            }
            Err(error) => {
                failed += 1;
                failure = Some(error);
                if is_refusal(error) || failed >= MOST_FAILED {
                    break;
                }
            }
        }
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            let cursor = held.lease.cursor.clone();
            tally.recorded += save(deps, held, std::mem::take(&mut batch), cursor).await?;
            bytes = 0;
        }
    }
    if let Some(error) = failure {
        let cursor = held.lease.cursor.clone();
        tally.recorded += save(deps, held, batch, cursor).await?;
        return Err(match end_failed(deps, client, held, error).await {
            Stop::Source(error) if !is_refusal(error) => Stop::Mail(error),
            stop => stop,
        });
    }
    tally.recorded += save(deps, held, batch, page.cursor).await?;
    Ok(())
}

/// Warns about an arrival time ahead of our clock. Such a time counts as now, so an
/// agent sees another time than the source states.
fn warn_if_ahead(deps: &Deps, held: &HeldLease, item: &ListedMail) {
    let latest = deps.clock.now().plus(AHEAD);
    if item.arrived_at.is_some_and(|at| at > latest) {
        let source = held.lease.source.as_str();
        tracing::warn!(
            source,
            "the arrival time of a mail is ahead of our clock; it counts as now"
        );
        let label = SourceLabel::new(source);
        deps.meters.ahead.get_or_create(&label).inc();
    }
}

/// Whether the whole source refuses us, and not only one mail.
fn is_refusal(error: PollError) -> bool {
    matches!(error, PollError::Busy(_) | PollError::Unauthorized)
}

/// Logs and counts a listed mail that is not recorded.
fn skip(deps: &Deps, held: &HeldLease, reason: &'static str) {
    let source = held.lease.source.to_string();
    tracing::warn!(source, reason, "a listed mail was not recorded");
    let label = Skipped { source, reason };
    deps.meters.skipped.get_or_create(&label).inc();
}

#[cfg(test)]
mod tests;
