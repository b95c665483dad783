//! The sweeper notifies workers again of deliveries that are due. A notification that
//! was lost, refused or never sent is repeated here, so the queue need not be
//! reliable.

use std::time::Duration;

use pipeline::{DeliveryId, QueueError, StoreError};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::deps::Deps;

/// How many due deliveries one sweep announces. Workers look into the database, too, so a
/// backlog is not announced as a whole: that would write each of its rows once more, and
/// new deliveries would wait in the queue behind notifications that no worker needs.
const BATCH: u32 = 512;
/// How often the sweeper checks the queue.
const CHECK_QUEUE_EVERY: Duration = Duration::from_secs(2);
/// How many deliveries one notification names: many enough that the broker does not slow the
/// drain of a backlog.
const PER_NOTIFICATION: usize = 32;

/// A sweep ends earlier, even if the database and the queue do not answer.
const LONGEST_ROUND: Duration = Duration::from_mins(2);

/// The result of one sweep.
#[derive(Debug)]
pub enum SweepOutcome {
    /// It announced this many deliveries.
    Announced(usize),
    /// The queue did not take a notification; the rows stay due.
    QueueUnavailable(QueueError),
    /// The database did not answer.
    StoreUnavailable(StoreError),
}

/// Notifies workers of the deliveries that are due longest.
pub async fn sweep(deps: &Deps) -> SweepOutcome {
    let due = match deps.deliveries.due(BATCH).await {
        Ok(due) => due,
        Err(error) => return SweepOutcome::StoreUnavailable(error),
    };
    for ids in due.chunks(PER_NOTIFICATION) {
        if let Err(outcome) = notify_and_mark(deps, ids).await {
            return outcome;
        }
    }
    SweepOutcome::Announced(due.len())
}

/// Sends the notification first and marks the rows second. After a crash in between, the
/// notification is sent twice; that is harmless, because only one worker at a time can claim
/// a delivery. In the other order, a crash would leave marked rows without a notification.
async fn notify_and_mark(deps: &Deps, ids: &[DeliveryId]) -> Result<(), SweepOutcome> {
    let notified = deps.doorbell.notify(ids).await;
    notified.map_err(SweepOutcome::QueueUnavailable)?;
    let marked = deps
        .deliveries
        .mark_notified(ids, deps.settings.notify_again_after);
    marked.await.map_err(SweepOutcome::StoreUnavailable)
}

/// Sweeps every `sweep_every` until `shutdown`, and updates the gauges of the
/// backlog.
pub async fn sweep_forever(deps: &Deps, shutdown: CancellationToken) {
    let mut pace = interval(deps.settings.sweep_every);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut gauged, mut checked) = (None, None);
    loop {
        deps.meters.tasks.round("sweeper", LONGEST_ROUND);
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            _ = pace.tick() => {}
        }
        report(deps, &sweep(deps).await);
        if is_past(checked, CHECK_QUEUE_EVERY) {
            check_queue(deps).await;
            checked = Some(Instant::now());
        }
        if is_past(gauged, 5 * deps.settings.sweep_every) {
            update_gauges(deps).await;
            gauged = Some(Instant::now());
        }
    }
}

fn is_past(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|at| at.elapsed() > every)
}

/// Raises or clears the alarm that the queue is unavailable. Only a change is logged.
async fn check_queue(deps: &Deps) {
    let unavailable = &deps.meters.queue_unavailable;
    match deps.queue.probe().await {
        Ok(()) => {
            if unavailable.set(0) == 1 {
                tracing::info!("the queue is available again");
            }
        }
        Err(error) => {
            if unavailable.set(1) == 0 {
                tracing::warn!(%error, "the queue is unavailable; workers look into the database");
            }
        }
    }
}

fn report(deps: &Deps, outcome: &SweepOutcome) {
    let count = |outcome, n: usize| {
        let sent = deps.meters.notifications("sweeper", outcome);
        sent.inc_by(n as u64);
    };
    match outcome {
        SweepOutcome::Announced(0) => {}
        SweepOutcome::Announced(n) => {
            tracing::debug!(deliveries = n, "the sweeper announced due deliveries");
            count("sent", *n);
        }
        SweepOutcome::QueueUnavailable(error) => {
            tracing::debug!(
                error = error as &dyn std::error::Error,
                "the queue did not take the sweeper's notification"
            );
            count("failed", 1);
        }
        SweepOutcome::StoreUnavailable(error) => {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the sweeper could not read due deliveries"
            );
        }
    }
}

async fn update_gauges(deps: &Deps) {
    if let Ok(backlog) = deps.deliveries.backlog().await {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        deps.meters.unfinished.set(number(backlog.unfinished));
        deps.meters
            .lag_seconds
            .set(number(backlog.oldest.as_secs()));
        deps.meters
            .overdue_seconds
            .set(number(backlog.overdue.as_secs()));
        deps.meters.dead_letters.set(number(backlog.dead_letters));
    }
}
