//! From an inbox to a consumed value: read what is there, then wait for more.

use std::time::Duration;

use pipeline::{Clock, SystemClock};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::Search;
use super::miss::{Miss, Sight};
use crate::client::{CallError, Consumption, Disclosed, Item, Page, State};

/// One wait of the server; a longer timeout is several of them.
const ONE_WAIT: Duration = Duration::from_secs(50);
/// The pause before a failed call is repeated, doubled each time up to the most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often a consume whose answer was lost is asked for again; this takes
/// half a minute, well within the window in which the server repeats itself.
const CONSUME_TRIES: u32 = 16;

/// What came of a search.
pub(super) enum Found {
    /// A value, which is now ours alone.
    Value(Disclosed),
    /// None, and why.
    None(Miss),
}

/// Where a search has got to.
#[derive(Default)]
struct Progress {
    cursor: Option<String>,
    /// Usable ones, oldest first.
    candidates: Vec<Item>,
    sight: Sight,
    /// Whether all that had come before the search was read.
    is_caught_up: bool,
    /// Whether the server has answered yet.
    has_met_server: bool,
    /// The attempt that says to the server that somebody waits here.
    attempt: Option<String>,
}

/// Finds the newest artifact that can be had and consumes it. While there is
/// none, an attempt is open, so that the server knows that somebody waits and
/// polls the inbox if no webhook comes.
pub(super) async fn search(search: &Search<'_>) -> Result<Found, CallError> {
    let mut progress = Progress::default();
    let found = search_on(search, &mut progress).await;
    if let Some(attempt) = &progress.attempt {
        let outcome = match &found {
            Ok(Found::Value(_)) => "succeeded",
            Ok(Found::None(_)) | Err(_) => "abandoned",
        };
        // It ends by itself at its deadline, too.
        let _ = search.client.finish_attempt(attempt, outcome).await;
    }
    found
}

async fn search_on(search: &Search<'_>, progress: &mut Progress) -> Result<Found, CallError> {
    let until = Instant::now() + search.timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        if progress.is_caught_up
            && let Some(item) = progress.candidates.pop()
        {
            match consume(search, &item).await? {
                Ok(disclosed) => return Ok(Found::Value(disclosed)),
                Err(miss) => progress.sight.note(miss, true),
            }
            continue;
        }
        if progress.is_caught_up && Instant::now() >= until {
            return Ok(Found::None(std::mem::take(&mut progress.sight).miss()));
        }
        if progress.is_caught_up && progress.attempt.is_none() {
            progress.attempt = open(search).await;
        }
        match look(search, progress, until).await {
            Ok(page) => {
                let is_quick = page.items.is_empty() && progress.is_caught_up;
                progress.take(search, page);
                pause = FIRST_PAUSE;
                if is_quick {
                    // A server that is ending answers its waits early.
                    sleep_until(until.min(Instant::now() + FIRST_PAUSE)).await;
                }
            }
            Err(error) if progress.may_retry(&error) && Instant::now() + pause < until => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Opens an attempt for what is searched; nothing when the key may not. What
/// came since the last page is on the next one, so nothing is missed.
async fn open(search: &Search<'_>) -> Option<String> {
    let from = search.from_domain.map(|domain| vec![bare(domain)]);
    let wish = json!({
        "kind": search.kind.as_str(),
        "inbox": search.inbox.as_str(),
        "from": from.unwrap_or_default(),
        "deadline": search.timeout.as_secs().clamp(1, 86_400),
        "resends": 0,
        "require": search.verified.then_some("verified"),
    });
    let attempt = search.client.open_attempt(&wish).await.ok()?;
    Some(attempt.id)
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
    fn take(&mut self, search: &Search<'_>, page: Page) {
        self.has_met_server = true;
        let is_new = self.is_caught_up;
        self.is_caught_up = self.is_caught_up || page.items.is_empty();
        self.cursor = Some(page.next_cursor);
        for item in page.items {
            let is_anothers = item.attempt.is_some() && item.attempt != self.attempt;
            if is_anothers || !is_from(&item, search.from_domain) || is_over(&item) {
                continue;
            }
            let is_wanted = item.state == State::Available && item.kind == search.kind;
            if is_wanted && search.verified && !item.sender_verified {
                self.sight.note(Miss::unverified(), is_new);
            } else if is_wanted {
                self.candidates.push(item);
            } else {
                self.sight.note(Miss::of(&item, search.kind), is_new);
            }
        }
    }

    /// A server that was never met is not waited for: it does not run.
    fn may_retry(&self, error: &CallError) -> bool {
        error.is_passing() && (self.has_met_server || !matches!(error, CallError::Unreachable(_)))
    }
}

/// Consumes an artifact, and asks again with the same key when the answer was
/// lost: the server then repeats it instead of refusing.
async fn consume(search: &Search<'_>, item: &Item) -> Result<Result<Disclosed, Miss>, CallError> {
    let key = uuid::Uuid::now_v7().to_string();
    let mut pause = FIRST_PAUSE;
    let mut tries = 0;
    let consumption = loop {
        tries += 1;
        match search.client.consume(&item.id, &key).await {
            Ok(consumption) => break consumption,
            Err(error) if error.is_passing() && tries < CONSUME_TRIES => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(error),
        }
    };
    Ok(match consumption {
        Consumption::Disclosed(disclosed) => Ok(disclosed),
        Consumption::Already { at } => Err(Miss::AlreadyConsumed { at }),
        Consumption::Withheld { reason } => Err(Miss::Withheld { reason }),
        Consumption::Expired | Consumption::KeyReused => Err(Miss::NothingArrived),
    })
}

fn is_from(item: &Item, domain: Option<&str>) -> bool {
    let Some(wanted) = domain else { return true };
    let wanted = bare(wanted);
    item.sender_domain.as_deref().is_some_and(|domain| {
        domain == wanted
            || domain
                .strip_suffix(wanted.as_str())
                .is_some_and(|rest| rest.ends_with('.'))
    })
}

/// A domain without the `@` that people write before it.
fn bare(domain: &str) -> String {
    domain.trim_start_matches('@').to_ascii_lowercase()
}

/// Whether an item's time is over, so that it explains nothing any more. The
/// server's word counts for what can be consumed; for the rest our clock does.
fn is_over(item: &Item) -> bool {
    let ends = OffsetDateTime::parse(&item.expires_at, &Rfc3339);
    let is_past = ends.is_ok_and(|ends| ends.unix_timestamp() <= SystemClock.now().as_seconds());
    item.state == State::Expired || (item.state != State::Available && is_past)
}
