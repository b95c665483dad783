//! A bounded wait for the next item of an inbox.

use std::ops::RangeInclusive;
use std::time::Duration;

use pipeline::{ArtifactView, InboxWatch};
use tokio::time::Instant;

use super::page_request::PageRequest;
use crate::http::problem::Problem;
use crate::state::Feed;

/// How long a wait pauses after the store failed, before it reads again. The pause is
/// random, so that thousands of waits do not all read at the same moment.
const RETRY_PAUSE: RangeInclusive<Duration> =
    Duration::from_millis(250)..=Duration::from_millis(750);

/// The items of a page as soon as there are any; none when `timeout` has passed or the
/// process is stopping.
///
/// If the store is unavailable when the wait begins, the caller learns it at once. If
/// it becomes unavailable later, the wait goes on, and reports it only if the store is
/// still unavailable at the end.
pub(super) async fn wait_for_items(
    feed: &Feed,
    page: &PageRequest,
    timeout: Duration,
) -> Result<Vec<ArtifactView>, Problem> {
    let until = Instant::now() + timeout;
    // Subscribe before reading: an item that arrives between the two then wakes this
    // wait instead of being missed.
    let mut arrival = feed.deps.log.watch(&page.inbox);
    let mut result = Ok(page.read(feed).await?);
    loop {
        match &result {
            Ok(views) if !views.is_empty() => return result,
            Err(problem) if !problem.is_temporary() => return result,
            Ok(_) | Err(_) => {}
        }
        match sleep_until_change(feed, &mut *arrival, until, result.is_err()).await {
            WakeUp::Changed => result = page.read(feed).await,
            WakeUp::TimedOut | WakeUp::Stopping => return result,
        }
    }
}

/// Why a wait woke up.
pub(crate) enum WakeUp {
    /// Something may have changed; read again.
    Changed,
    /// The timeout has passed.
    TimedOut,
    /// The process is stopping.
    Stopping,
}

/// Sleeps until something changes, the timeout passes or the process is stopping. If
/// the last read failed, it pauses shortly and reports a change instead.
pub(crate) async fn sleep_until_change(
    feed: &Feed,
    arrival: &mut dyn InboxWatch,
    until: Instant,
    has_failed: bool,
) -> WakeUp {
    let change = async {
        if has_failed {
            tokio::time::sleep(rand::random_range(RETRY_PAUSE)).await;
        } else {
            arrival.changed().await;
        }
    };
    tokio::select! {
        () = change => WakeUp::Changed,
        () = tokio::time::sleep_until(until) => WakeUp::TimedOut,
        () = feed.deps.shutdown.cancelled() => WakeUp::Stopping,
    }
}
