//! Searches an inbox and consumes a value: reads what is there, then waits for more.
//!
//! It reads the list of the inbox and not only its own attempt. Mail from before the
//! attempt never belongs to the attempt, and a wait takes such mail, too. And only the
//! list names the other attempt that got a mail. Which mail counts, who sent it, what is
//! withheld and what is superseded is what the server says; the choice of the newest item
//! (`candidates.rs`) is the command's own.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Search;
use super::candidates::{Candidate, Candidates};
use super::handle::{BEAT, Handle};
use super::miss::{Explanations, Miss};
use super::pace::Pace;
use super::sorted::{Sorted, is_used, sort};
use crate::shutdown::{self, StopSignal};
use client::{CallError, Consumption, Disclosed, Item, Page};

/// The longest wait of one request; a longer timeout takes several requests.
const MAX_WAIT: Duration = Duration::from_secs(50);
/// How often a consume whose answer was lost is retried. This takes half a minute,
/// well within the server's replay window.
const CONSUME_TRIES: u32 = 16;
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_mins(2);

/// The outcome of a search.
pub(super) enum Found {
    /// A value that only this process has.
    Value(Box<Value>),
    /// No value, and why.
    None(Miss),
    /// The process was asked to stop.
    Stopped(StopSignal),
}

/// A value and its item.
pub(super) struct Value {
    pub(super) disclosed: Disclosed,
    pub(super) item: Item,
    /// Whether it arrived during the wait.
    pub(super) is_new: bool,
}

/// The progress of a search.
#[derive(Default)]
struct Progress {
    cursor: Option<String>,
    candidates: Candidates,
    explanations: Explanations,
    /// Whether every item from before the search was read.
    is_caught_up: bool,
    /// Whether the server has ever answered.
    server_answered: bool,
    /// The open attempt.
    handle: Handle,
}

/// Finds the newest available artifact and consumes it. While there is none, an
/// attempt is open, so that the server polls the sources if no webhook arrives.
/// The attempt ends with the search, whatever the outcome: a forgotten attempt would
/// receive the mail of the next search.
pub(super) async fn search(search: &Search<'_>) -> Result<Found, CallError> {
    let mut progress = Progress::default();
    let found = tokio::select! {
        found = search_on(search, &mut progress) => found,
        signal = shutdown::requested() => Ok(Found::Stopped(signal)),
    };
    match found {
        Ok(Found::None(Miss::NothingArrived)) => {
            let miss = progress.handle.finish_and_explain(search).await;
            Ok(Found::None(miss.unwrap_or(Miss::NothingArrived)))
        }
        found => {
            let outcome = match &found {
                Ok(Found::Value(_)) => "succeeded",
                _ => "abandoned",
            };
            progress.handle.finish(search, outcome).await;
            found
        }
    }
}

async fn search_on(search: &Search<'_>, progress: &mut Progress) -> Result<Found, CallError> {
    let until = Instant::now() + search.timeout;
    let mut pace = Pace::new();
    loop {
        if progress.is_caught_up
            && let Some(candidate) = progress.candidates.pop()
        {
            if let Some(disclosed) = take(search, progress, &candidate).await? {
                let Candidate { item, is_new, .. } = candidate;
                let value = Value {
                    disclosed,
                    item,
                    is_new,
                };
                return Ok(Found::Value(Box::new(value)));
            }
            continue;
        }
        if progress.is_caught_up && Instant::now() >= until {
            return Ok(Found::None(
                std::mem::take(&mut progress.explanations).best(),
            ));
        }
        if progress.is_caught_up {
            progress.handle.keep_open(search).await;
        }
        let began = Instant::now();
        match next_page(search, progress, until).await {
            Ok(listed) => {
                let is_unchanged = listed.items.is_empty() && progress.is_caught_up;
                progress.sort(search, listed);
                if is_unchanged {
                    pace.after(began, until).await;
                } else {
                    pace.reset();
                }
            }
            Err(error) if progress.may_retry(&error) && Instant::now() + pace.next() < until => {
                pace.pause(until).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads one page: at once while catching up, then with a wait. Dropping a wait at the
/// deadline loses nothing, because listing changes nothing.
async fn next_page(
    search: &Search<'_>,
    progress: &Progress,
    until: Instant,
) -> Result<Page, CallError> {
    let after = progress.cursor.as_deref();
    if !progress.is_caught_up {
        return search
            .client
            .list(search.inbox, search.from_domain, after, Duration::ZERO)
            .await;
    }
    let left = until.saturating_duration_since(Instant::now());
    // The server counts whole seconds.
    let has_attempt = progress.handle.attempt().is_some();
    let longest = if has_attempt { BEAT } else { MAX_WAIT };
    let wait = (left + Duration::from_millis(999)).min(longest);
    let listed = timeout_at(
        until,
        search
            .client
            .list(search.inbox, search.from_domain, after, wait),
    )
    .await;
    listed.unwrap_or_else(|_elapsed| {
        Ok(Page {
            items: Vec::new(),
            next_cursor: after.unwrap_or_default().to_owned(),
        })
    })
}

impl Progress {
    /// Sorts a page into available items and explanations.
    fn sort(&mut self, search: &Search<'_>, page: Page) {
        self.server_answered = true;
        let is_new = self.is_caught_up;
        self.is_caught_up = self.is_caught_up || page.items.is_empty();
        self.cursor = Some(page.next_cursor);
        for item in page.items {
            if is_used(search, &item) {
                self.candidates.note_used(&item);
            }
            match sort(search, &item, &self.handle, is_new) {
                Sorted::Available => self.candidates.add(item, is_new),
                Sorted::Explains(miss) => self.explanations.add(miss, is_new),
                Sorted::Irrelevant => {}
            }
        }
    }

    /// A server that never answered does not run, so it is not waited for.
    fn may_retry(&self, error: &CallError) -> bool {
        error.is_transient()
            && (self.server_answered || !matches!(error, CallError::Unreachable(_)))
    }
}

/// Tries to consume a candidate, and records why it failed.
async fn take(
    search: &Search<'_>,
    progress: &mut Progress,
    candidate: &Candidate,
) -> Result<Option<Disclosed>, CallError> {
    let miss = match consume(search, &candidate.item).await? {
        Consumption::Disclosed(disclosed) => return Ok(Some(disclosed)),
        Consumption::Already { at } => {
            progress.candidates.was_used(candidate);
            Miss::AlreadyConsumed { at }
        }
        // The artifact that replaced it is on the next page.
        Consumption::Superseded => {
            progress.candidates.was_used(candidate);
            Miss::NothingArrived
        }
        Consumption::Withheld { reason } => Miss::Withheld { reason },
        Consumption::Expired => Miss::Expired,
        Consumption::Gone | Consumption::KeyReused => Miss::NothingArrived,
    };
    progress.explanations.add(miss, true);
    Ok(None)
}

/// Consumes an artifact. When the answer is lost, it retries with the same key, and
/// the server repeats its answer.
async fn consume(search: &Search<'_>, item: &Item) -> Result<Consumption, CallError> {
    let key = uuid::Uuid::now_v7().to_string();
    let mut pace = Pace::new();
    let mut tries = 0;
    loop {
        tries += 1;
        match search.client.consume(&item.id, &key).await {
            Err(error) if error.is_transient() && tries < CONSUME_TRIES => {
                pace.pause(Instant::now() + MAX_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}
