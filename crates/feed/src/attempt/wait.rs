//! A bounded wait for an attempt to change.

use std::time::Duration;

use pipeline::{AttemptId, AttemptStatus, AttemptView};
use tokio::time::Instant;

use crate::auth::Caller;
use crate::patience::patiently;
use crate::problem::Problem;
use crate::routes::Feed;
use crate::wait::{Woken, woken};

/// The attempt as it stands as soon as it is `enough`, cannot change any more,
/// `patience` has passed or the process ends.
pub(super) async fn until(
    feed: &Feed,
    caller: &Caller,
    attempt: AttemptId,
    patience: Duration,
    enough: impl Fn(&AttemptView) -> bool,
) -> Result<AttemptView, Problem> {
    let began = Instant::now();
    let view = look(feed, caller, attempt).await?;
    if patience.is_zero() || enough(&view) || !view.may_change() {
        return Ok(view);
    }
    let _seat = feed.room.enter(&caller.consumer)?;
    let until = began + patience;
    let view = change(feed, caller, &view, until, enough).await?;
    caller.still_stands(feed).await?;
    Ok(view)
}

async fn change(
    feed: &Feed,
    caller: &Caller,
    before: &AttemptView,
    until: Instant,
    enough: impl Fn(&AttemptView) -> bool,
) -> Result<AttemptView, Problem> {
    let attempt = before.id;
    // Watch first and look second: what arrives between the two is then news,
    // not something that this wait sleeps through.
    let mut arrival = feed.deps.log.watch(&before.inbox);
    loop {
        // A store that goes away while this waits is waited for too.
        let looked = look(feed, caller, attempt).await;
        let wake = match &looked {
            Ok(view) if enough(view) || !view.may_change() => return looked,
            // The deadline is the database's; a little later it has passed there.
            Ok(view) => until.min(Instant::now() + view.remaining + Duration::from_millis(5)),
            Err(problem) if !problem.is_passing() => return looked,
            Err(_) => until,
        };
        match woken(feed, &mut *arrival, wake, looked.is_err()).await {
            Woken::ByTheHour if wake == until => return look(feed, caller, attempt).await,
            Woken::ToLook | Woken::ByTheHour => {}
            Woken::ToEnd => return looked,
        }
    }
}

/// Whether there is something to consume.
pub(super) fn is_ready(view: &AttemptView) -> bool {
    matches!(
        view.status(),
        AttemptStatus::Ready | AttemptStatus::Superseded | AttemptStatus::Consumed
    )
}

async fn look(feed: &Feed, caller: &Caller, attempt: AttemptId) -> Result<AttemptView, Problem> {
    let view = patiently(feed.deps.attempts.attempt(attempt, &caller.scope)).await?;
    view.ok_or(Problem::NotFound)
}
