//! From an inbox to a consumed value: read what is there, then wait for more.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Search;
use super::candidates::{Candidate, Candidates};
use super::handle::Handle;
use super::miss::{Miss, Sight};
use super::pace::Pace;
use super::sorted::{Sorted, is_used, sort};
use crate::client::{CallError, Consumption, Disclosed, Item, Page};
use crate::shutdown::{self, Asked};

/// One wait of the server; a longer timeout is several of them.
const ONE_WAIT: Duration = Duration::from_secs(50);
/// How often a consume whose answer was lost is asked for again; this takes
/// half a minute, well within the window in which the server repeats itself.
const CONSUME_TRIES: u32 = 16;
/// Nothing that is asked for again is asked for longer than this.
const AT_LAST: Duration = Duration::from_mins(2);

/// What came of a search.
pub(super) enum Found {
    /// A value, which is now ours alone.
    Value(Box<Value>),
    /// None, and why.
    None(Miss),
    /// The process was asked to stop.
    Stopped(Asked),
}

/// A value and what it came in.
pub(super) struct Value {
    pub(super) disclosed: Disclosed,
    pub(super) item: Item,
    /// Whether it came during the wait.
    pub(super) is_new: bool,
}

/// Where a search has got to.
#[derive(Default)]
struct Progress {
    cursor: Option<String>,
    candidates: Candidates,
    sight: Sight,
    /// Whether all that had come before the search was read.
    is_caught_up: bool,
    /// Whether the server has answered yet.
    has_met_server: bool,
    /// What says to the server that somebody waits here.
    handle: Handle,
}

/// Finds the newest artifact that can be had and consumes it. While there is
/// none, an attempt is open, so that the server knows that somebody waits and
/// polls the inbox if no webhook comes. However the search ends, the attempt ends
/// with it: one that nobody waits for would get the mail of the next search.
pub(super) async fn search(search: &Search<'_>) -> Result<Found, CallError> {
    let mut progress = Progress::default();
    let found = tokio::select! {
        found = search_on(search, &mut progress) => found,
        asked = shutdown::requested() => Ok(Found::Stopped(asked)),
    };
    match found {
        Ok(Found::None(Miss::NothingArrived)) => {
            let miss = progress.handle.last_words(search).await;
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
            return Ok(Found::None(std::mem::take(&mut progress.sight).miss()));
        }
        if progress.is_caught_up {
            progress.handle.open(search).await;
        }
        let began = Instant::now();
        match look(search, progress, until).await {
            Ok(news) => {
                let is_quick = news.items.is_empty() && progress.is_caught_up;
                progress.sort(search, news);
                if is_quick {
                    pace.after(began, until).await;
                } else {
                    pace.reset();
                }
            }
            Err(error) if progress.may_retry(&error) && Instant::now() + pace.next() < until => {
                pace.rest(until).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// One page: at once while catching up, then with a wait. Dropping a wait at
/// the deadline loses nothing, for listing changes nothing.
async fn look(search: &Search<'_>, progress: &Progress, until: Instant) -> Result<Page, CallError> {
    let after = progress.cursor.as_deref();
    if !progress.is_caught_up {
        return search
            .client
            .list(search.inbox, after, Duration::ZERO)
            .await;
    }
    let left = until.saturating_duration_since(Instant::now());
    // The server counts whole seconds.
    let wait = (left + Duration::from_millis(999)).min(ONE_WAIT);
    let listed = timeout_at(until, search.client.list(search.inbox, after, wait)).await;
    listed.unwrap_or_else(|_elapsed| {
        Ok(Page {
            items: Vec::new(),
            next_cursor: after.unwrap_or_default().to_owned(),
        })
    })
}

impl Progress {
    /// Sorts a page into what can be had and what only explains.
    fn sort(&mut self, search: &Search<'_>, page: Page) {
        self.has_met_server = true;
        let is_new = self.is_caught_up;
        self.is_caught_up = self.is_caught_up || page.items.is_empty();
        self.cursor = Some(page.next_cursor);
        for item in page.items {
            if is_used(search, &item) {
                self.candidates.note_used(&item);
            }
            match sort(search, &item, self.handle.attempt(), is_new) {
                Sorted::Usable => self.candidates.add(item, is_new),
                Sorted::Tells(miss) => self.sight.note(miss, is_new),
                Sorted::Nothing => {}
            }
        }
    }

    /// A server that was never met is not waited for: it does not run.
    fn may_retry(&self, error: &CallError) -> bool {
        error.is_passing() && (self.has_met_server || !matches!(error, CallError::Unreachable(_)))
    }
}

/// Tries to consume a candidate, and notes why it cannot be had.
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
        // What has replaced it is on the next page.
        Consumption::Superseded => {
            progress.candidates.was_used(candidate);
            Miss::NothingArrived
        }
        Consumption::Withheld { reason } => Miss::Withheld { reason },
        Consumption::Expired => Miss::Expired,
        Consumption::Gone | Consumption::KeyReused => Miss::NothingArrived,
    };
    progress.sight.note(miss, true);
    Ok(None)
}

/// Consumes an artifact, and asks again with the same key when the answer was
/// lost: the server then repeats it instead of refusing.
async fn consume(search: &Search<'_>, item: &Item) -> Result<Consumption, CallError> {
    let key = uuid::Uuid::now_v7().to_string();
    let mut pace = Pace::new();
    let mut tries = 0;
    loop {
        tries += 1;
        match search.client.consume(&item.id, &key).await {
            Err(error) if error.is_passing() && tries < CONSUME_TRIES => {
                pace.rest(Instant::now() + AT_LAST).await;
            }
            outcome => return outcome,
        }
    }
}
