//! The sweeper: rings again for rows that are due. It is what makes the queue a
//! mere doorbell: a ring that was lost, refused or never sent comes from here.

use pipeline::{DeliveryId, DeliveryLog, Doorbell, OutcomeLabel, QueueError, StoreError};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::Deps;

/// How many due rows are looked up at once.
const BATCH: u32 = 512;
/// How many deliveries one ring names: few enough that several workers share a
/// backlog, many enough that the broker is not the bottleneck of its drain.
const PER_RING: usize = 32;

/// What came of a sweep.
#[derive(Debug)]
pub enum Swept {
    /// The bell was rung for this many deliveries; no more are due.
    Rang(usize),
    /// The bell could not be rung; the rows stay due.
    BellSilent(QueueError),
    /// The database could not be asked.
    StoreAway(StoreError),
}

/// Rings for everything that is due now.
pub async fn sweep(deps: &Deps) -> Swept {
    let mut rang = 0;
    loop {
        let due = match deps.deliveries.due(BATCH).await {
            Ok(due) => due,
            Err(error) => return Swept::StoreAway(error),
        };
        for ids in due.chunks(PER_RING) {
            if let Err(swept) = ring_and_note(deps, &*deps.deliveries, &*deps.doorbell, ids).await {
                return swept;
            }
            rang += ids.len();
        }
        if due.len() < BATCH as usize {
            return Swept::Rang(rang);
        }
    }
}

/// Rings first and notes it second: a crash in between rings twice, which the
/// claim absorbs, while the other order would forget the row for a while.
async fn ring_and_note(
    deps: &Deps,
    log: &dyn DeliveryLog,
    doorbell: &dyn Doorbell,
    ids: &[DeliveryId],
) -> Result<(), Swept> {
    doorbell.notify(ids).await.map_err(Swept::BellSilent)?;
    log.mark_notified(ids, deps.settings.ring_patience)
        .await
        .map_err(Swept::StoreAway)
}

/// Sweeps at the configured pace until `shutdown`, and keeps the gauges of the
/// backlog up to date.
pub async fn sweep_forever(deps: &Deps, shutdown: CancellationToken) {
    let mut pace = interval(deps.settings.sweep_every);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut gauged = None;
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            _ = pace.tick() => {}
        }
        report(deps, &sweep(deps).await);
        if gauged.is_none_or(|at: Instant| at.elapsed() > 5 * deps.settings.sweep_every) {
            gauge(deps).await;
            gauged = Some(Instant::now());
        }
    }
}

fn report(deps: &Deps, swept: &Swept) {
    let count = |outcome, n: usize| {
        let rings = &deps.meters.rings;
        rings
            .get_or_create(&OutcomeLabel::new("sweeper", outcome))
            .inc_by(n as u64);
    };
    match swept {
        Swept::Rang(0) => {}
        Swept::Rang(n) => {
            tracing::debug!(deliveries = n, "the sweeper rang for due deliveries");
            count("heard", *n);
        }
        Swept::BellSilent(error) => {
            tracing::debug!(
                error = error as &dyn std::error::Error,
                "the sweeper could not ring"
            );
            count("silent", 1);
        }
        Swept::StoreAway(error) => {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the sweeper could not look"
            );
        }
    }
}

async fn gauge(deps: &Deps) {
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
