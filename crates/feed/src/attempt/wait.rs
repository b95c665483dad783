//! A bounded wait for an attempt to change.

use std::time::Duration;

use pipeline::{AttemptId, AttemptStatus, AttemptView};
use tokio::time::Instant;

use crate::auth::Caller;
use crate::http::problem::Problem;
use crate::http::timeout::ask_store;
use crate::items::{WakeUp, sleep_until_change};
use crate::state::Feed;

/// The attempt as soon as `is_done` holds, it cannot change any more, `timeout` has
/// passed or the process is stopping.
pub(super) async fn wait_until(
    feed: &Feed,
    caller: &Caller,
    attempt: AttemptId,
    timeout: Duration,
    is_done: impl Fn(&AttemptView) -> bool,
) -> Result<AttemptView, Problem> {
    let until = Instant::now() + timeout;
    let view = read(feed, caller, attempt).await?;
    if timeout.is_zero() || is_done(&view) || !view.may_change() {
        return Ok(view);
    }
    let slot = feed.wait_slots.take(&caller.consumer);
    let _slot = slot.ok_or(Problem::TooManyWaits)?;
    let view = wait_for_change(feed, caller, &view, until, is_done).await?;
    caller.require_valid_key(feed).await?;
    Ok(view)
}

async fn wait_for_change(
    feed: &Feed,
    caller: &Caller,
    before: &AttemptView,
    until: Instant,
    is_done: impl Fn(&AttemptView) -> bool,
) -> Result<AttemptView, Problem> {
    let attempt = before.id;
    // Subscribe before reading: mail that arrives between the two then wakes this wait
    // instead of being missed.
    let mut arrival = feed.deps.log.watch(&before.inbox);
    loop {
        // If the store becomes unavailable during the wait, the wait goes on.
        let result = read(feed, caller, attempt).await;
        let wake_at = match &result {
            Ok(view) if is_done(view) || !view.may_change() => return result,
            // The database's clock decides about the deadline, so read a little later.
            Ok(view) => until.min(Instant::now() + view.remaining + Duration::from_millis(5)),
            Err(problem) if !problem.is_temporary() => return result,
            Err(_) => until,
        };
        match sleep_until_change(feed, &mut *arrival, wake_at, result.is_err()).await {
            WakeUp::TimedOut if wake_at == until => return read(feed, caller, attempt).await,
            WakeUp::Changed | WakeUp::TimedOut => {}
            WakeUp::Stopping => return result,
        }
    }
}

/// Whether there is a value to consume, or one that was consumed.
pub(super) fn has_value(view: &AttemptView) -> bool {
    matches!(
        view.status(),
        AttemptStatus::Ready | AttemptStatus::Superseded | AttemptStatus::Consumed
    )
}

async fn read(feed: &Feed, caller: &Caller, attempt: AttemptId) -> Result<AttemptView, Problem> {
    let view = ask_store(feed.deps.attempts.attempt(attempt, &caller.scope)).await?;
    view.ok_or(Problem::NotFound)
}
