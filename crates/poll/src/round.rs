//! One round: a source is asked page by page, and what it has is recorded
//! together with how far that is, all within bounds.

use std::collections::HashSet;
use std::time::Duration;

use pipeline::{
    Completed, ContentDigest, DeliveryId, DeliveryKey, Lease, Leased, NewDelivery, OnConflict,
    Polled, Recorded, SourceLabel, StoreError, Timestamp,
};
use tokio::time::{Instant, timeout};

use crate::meters::Skipped;
use crate::pull::{Fetched, Found, Item, Page, Pull, PullError};
use crate::run::Deps;

/// Mails that are recorded in one transaction.
const BATCH: usize = 64;
/// Bytes of them that are held in memory at once, besides one mail.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Mails of one page that cannot be had before the round ends.
const MOST_FAILED: u32 = 3;
/// How far a source's clock may be ahead of ours before it is worth a word.
const AHEAD: Duration = Duration::from_mins(5);

/// What came of a round that was not cut short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Mails that were listed.
    pub(crate) listed: u64,
    /// Mails of them that were not known.
    pub(crate) unseen: u64,
    /// Deliveries that were recorded.
    pub(crate) recorded: u64,
    /// Whether there is more than one round may read.
    pub(crate) is_cut: bool,
}

/// Why a round was cut short.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The source did not answer as it should.
    Pull(PullError),
    /// It did, but some of its mails could not be had. Whoever waits for another
    /// one need not suffer for it.
    Mail(PullError),
    /// Another poller has the source now; nothing more was written.
    Lost,
    /// The database could not be asked. The next round begins where the last
    /// commit left off.
    StoreAway(StoreError),
}

impl From<PullError> for Stop {
    fn from(error: PullError) -> Self {
        Self::Pull(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::StoreAway(error)
    }
}

/// A lease and when it was last prolonged.
pub(crate) struct Held {
    pub(crate) lease: Lease,
    prolonged: Instant,
}

impl Held {
    pub(crate) fn new(lease: Lease) -> Self {
        let prolonged = Instant::now();
        Self { lease, prolonged }
    }

    /// Prolongs the lease when it is time to; fails when it was lost meanwhile.
    pub(crate) async fn prolong(&mut self, deps: &Deps) -> Result<(), Stop> {
        if self.prolonged.elapsed() < deps.settings.beat() {
            return Ok(());
        }
        let asked = Instant::now();
        let span = deps.settings.lease;
        let again = deps.polls.lease(&self.lease.source, deps.poller, span);
        match again.await? {
            // Another number means that the lease had ended in between, and
            // whoever had it then may have moved the cursor.
            Leased::Yours(lease) if lease.fence == self.lease.fence => {
                self.prolonged = asked;
                Ok(())
            }
            Leased::Yours(_) | Leased::Held => Err(Stop::Lost),
        }
    }
}

/// Asks a source for everything behind its cursor, within the bounds of a round.
/// `note` hears of every step, for whoever shows progress.
pub(crate) async fn round(
    deps: &Deps,
    pull: &mut dyn Pull,
    held: &mut Held,
    note: &mut (dyn FnMut(&Tally) + Send),
) -> Result<Tally, Stop> {
    let deadline = Instant::now() + deps.settings.round_budget;
    let mut tally = Tally::default();
    let mut cursors = HashSet::from([held.lease.cursor.clone()]);
    for _ in 0..deps.settings.pages {
        if Instant::now() >= deadline {
            tally.is_cut = true;
            return Ok(tally);
        }
        held.prolong(deps).await?;
        let asked = pull.list(&held.lease.cursor, deps.clock.now());
        let page = match in_time(deps.settings.answer_budget, asked).await {
            Ok(page) => page,
            Err(error) => return Err(step_back(deps, pull, held, error).await),
        };
        let (cursor, has_more) = (page.cursor.clone(), page.has_more);
        take(deps, pull, held, page, &mut tally).await?;
        note(&tally);
        if !has_more {
            return Ok(tally);
        }
        if !cursors.insert(cursor) {
            return Err(step_back(deps, pull, held, PullError::Endless).await);
        }
    }
    // A backlog is worked off over several rounds; a list that has nothing new
    // and yet no end is no backlog.
    if tally.unseen == 0 {
        return Err(PullError::Endless.into());
    }
    tally.is_cut = true;
    Ok(tally)
}

/// Ends a round that failed, with the cursor where the next one is to begin.
async fn step_back(deps: &Deps, pull: &mut dyn Pull, held: &mut Held, error: PullError) -> Stop {
    let cursor = pull.after_failure(&held.lease.cursor, error);
    match save(deps, held, Vec::new(), cursor).await {
        Ok(_) => Stop::Pull(error),
        Err(stop) => stop,
    }
}

async fn in_time<T>(
    budget: Duration,
    answer: impl Future<Output = Result<T, PullError>>,
) -> Result<T, PullError> {
    match timeout(budget, answer).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(PullError::Away),
    }
}

/// Records the mails of a page, and with the last of them where to go on. If one
/// of them cannot be had, the others are kept and the cursor stays before them.
async fn take(
    deps: &Deps,
    pull: &mut dyn Pull,
    held: &mut Held,
    page: Page,
    tally: &mut Tally,
) -> Result<(), Stop> {
    let key = |item: &Item| DeliveryKey::from_poll(&held.lease.source, &item.id);
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
        held.prolong(deps).await?;
        let fetched = in_time(deps.settings.answer_budget, pull.fetch(item)).await;
        match fetched {
            Ok(Fetched::Mail(found)) => {
                bytes += found.body.len();
                look_at_its_time(deps, held, item);
                batch.push(delivery(&held.lease, item, found));
            }
            Ok(Fetched::Gone) => skip(deps, held, "gone"),
            Ok(Fetched::TooLarge) => skip(deps, held, "too_large"),
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
        return Err(match step_back(deps, pull, held, error).await {
            Stop::Pull(error) if !is_refusal(error) => Stop::Mail(error),
            stop => stop,
        });
    }
    tally.recorded += save(deps, held, batch, page.cursor).await?;
    Ok(())
}

/// A time ahead of ours counts as now, whoever is wrong; but it is worth a word,
/// for what an agent sees then is not what its source says.
fn look_at_its_time(deps: &Deps, held: &Held, item: &Item) {
    let latest = deps.clock.now().plus(AHEAD);
    if item.arrived_at.is_some_and(|at| at > latest) {
        let source = held.lease.source.as_str();
        tracing::warn!(source, "a mail arrived in the future by its source's clock");
        let label = SourceLabel::new(source);
        deps.meters.ahead.get_or_create(&label).inc();
    }
}

/// Whether the source refuses us, and not merely one mail.
fn is_refusal(error: PullError) -> bool {
    matches!(error, PullError::Busy(_) | PullError::Unauthorised)
}

fn skip(deps: &Deps, held: &Held, why: &'static str) {
    let source = held.lease.source.to_string();
    tracing::warn!(source, why, "a listed mail was left where it is");
    let label = Skipped { source, why };
    deps.meters.skipped.get_or_create(&label).inc();
}

fn delivery(lease: &Lease, item: &Item, found: Found) -> Polled {
    let id = found.lasting_id.as_deref().unwrap_or(&item.id);
    let delivery = NewDelivery {
        id: DeliveryId::new(),
        source: lease.source.clone(),
        key: DeliveryKey::from_poll(&lease.source, id),
        // A source may describe one mail differently each time it is asked:
        // read flags, fresh links. The id alone tells mails apart.
        content: ContentDigest::of(&[id.as_bytes()]),
        content_type: found.content_type.to_owned(),
        body: found.body,
        on_conflict: OnConflict::Keep,
    };
    let arrived_at = item.arrived_at.map(Timestamp::end_of_its_second);
    Polled {
        delivery,
        arrived_at,
    }
}

/// Saves rows and cursor, then rings. A ring that is not heard comes again from
/// the sweeper.
async fn save(
    deps: &Deps,
    held: &mut Held,
    batch: Vec<Polled>,
    cursor: String,
) -> Result<u64, Stop> {
    if batch.is_empty() && cursor == held.lease.cursor {
        return Ok(0);
    }
    let (source, mails) = (held.lease.source.as_str(), batch.len());
    tracing::debug!(source, mails, "saving what a source had");
    let answers = match deps.polls.save(&held.lease, batch, &cursor).await? {
        Completed::Done(answers) => answers,
        Completed::Lost => return Err(Stop::Lost),
    };
    held.lease.cursor = cursor;
    let fresh = answers.iter().filter(|answer| answer.is_fresh());
    let fresh: Vec<DeliveryId> = fresh.map(|answer| Recorded::id(*answer)).collect();
    if fresh.is_empty() {
        return Ok(0);
    }
    let label = SourceLabel::new(held.lease.source.as_str());
    deps.meters
        .found
        .get_or_create(&label)
        .inc_by(fresh.len() as u64);
    if let Err(error) = deps.doorbell.notify(&fresh).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "the bell is silent; the sweeper will ring");
    }
    Ok(fresh.len() as u64)
}

#[cfg(test)]
mod tests;
