//! The worker's loop. Work comes from two places: a notification of the queue, or the
//! worker's own look at the database. The notification only shortens the wait: without
//! a queue the worker finds due deliveries by itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{DeliveryId, DoorbellListener, Notification};
use rand::seq::SliceRandom;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::deps::Deps;
use crate::process::process;
use crate::requeue::requeue_store_failures;
use crate::slot::Slot;

/// A worker also looks for deliveries in the database, after a random wait. It finds those
/// that are due within `AHEAD`. A new delivery is due two seconds after it was recorded, if
/// its first notification had no effect. So an outage of the queue delays it by a second at
/// most.
const AHEAD: Duration = Duration::from_millis(1500);
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How many due deliveries a look reads for each slot. The worker takes a random part of
/// them, so that several processes rarely try to claim the same ones.
const CANDIDATES_PER_SLOT: usize = 4;
/// A slot is free earlier: everything that a delivery waits for has a timeout.
const LONGEST_ROUND: Duration = Duration::from_mins(5);

/// Works until `shutdown`, then finishes the deliveries in progress.
///
/// It takes work only when a slot is free. Notifications that the broker has sent it before
/// wait here; another worker finds their deliveries after two seconds. What a look has found
/// is not claimed until its slot is free.
pub async fn run(
    deps: Arc<Deps>,
    mut listener: Box<dyn DoorbellListener>,
    shutdown: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(deps.settings.concurrency));
    let in_progress = TaskTracker::new();
    let warming = Arc::clone(&deps);
    in_progress.spawn(async move {
        let time = warming.settings.parse_budget;
        warming.parser_threads.warm_up(time).await;
    });
    in_progress.spawn(requeue_at_start(Arc::clone(&deps)));
    let mut found = VecDeque::new();
    let mut next_look = Instant::now() + random_wait();
    loop {
        deps.meters.tasks.round("worker", LONGEST_ROUND);
        let look = found.is_empty().then_some(next_look);
        match next_event(&mut *listener, &slots, look, &shutdown).await {
            Event::Notified(notification) => {
                let (deps, slots) = (Arc::clone(&deps), Arc::clone(&slots));
                in_progress.spawn(process_all(deps, notification, slots));
            }
            Event::Look => {
                found = find_due(&deps).await;
                // After a full look there may be more: look again when these have begun.
                next_look = Instant::now();
                if found.len() < deps.settings.concurrency {
                    next_look += random_wait();
                }
            }
            Event::Found => {
                if let (Some(id), Some(mut slot)) = (found.pop_front(), Slot::take(&slots).await) {
                    let deps = Arc::clone(&deps);
                    in_progress.spawn(async move {
                        process(&deps, id, &mut slot).await;
                    });
                }
            }
            Event::Stop => break,
        }
    }
    in_progress.close();
    in_progress.wait().await;
}

/// Requeues what was dead-lettered for an outage of our database.
async fn requeue_at_start(deps: Arc<Deps>) {
    match requeue_store_failures(&*deps.failures).await {
        Ok(0) => {}
        Ok(deliveries) => {
            tracing::info!(deliveries, "requeued dead letters of a database outage");
        }
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "dead letters of a database outage were not requeued");
        }
    }
}

/// What the loop does next.
enum Event {
    Notified(Notification),
    /// Begin with a delivery that a look has found.
    Found,
    Look,
    Stop,
}

/// Waits for a free slot, then for work. `look` says when to look into the database;
/// without it the last look has found deliveries that are not begun yet.
async fn next_event(
    listener: &mut dyn DoorbellListener,
    slots: &Semaphore,
    look: Option<Instant>,
    shutdown: &CancellationToken,
) -> Event {
    let own_work = async {
        match look {
            None => Event::Found,
            Some(at) => {
                sleep_until(at).await;
                Event::Look
            }
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Event::Stop,
        event = async {
            // This only checks that a slot is free. Each delivery takes its own permit.
            let _slot = slots.acquire().await;
            tokio::select! {
                notification = listener.next() => notification.map_or(Event::Stop, Event::Notified),
                event = own_work => event,
            }
        } => event,
    }
}

/// Deliveries that are due and that no worker has taken, as many as there are slots.
async fn find_due(deps: &Deps) -> VecDeque<DeliveryId> {
    let slots = deps.settings.concurrency;
    let limit = u32::try_from(slots.saturating_mul(CANDIDATES_PER_SLOT)).unwrap_or(u32::MAX);
    let mut due = match deps.deliveries.claimable(AHEAD, limit).await {
        Ok(due) => due,
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "database unavailable; the worker looks again soon");
            Vec::new()
        }
    };
    due.shuffle(&mut rand::rng());
    due.truncate(slots);
    due.into()
}

/// A random wait, so that several processes do not look at the same time.
fn random_wait() -> Duration {
    rand::random_range(SHORTEST_WAIT..=LONGEST_WAIT)
}

/// Processes every delivery of a notification, then acknowledges it. A delivery that was
/// not finished is still in its row, and is found when it is due.
async fn process_all(deps: Arc<Deps>, notification: Notification, slots: Arc<Semaphore>) {
    let deliveries = TaskTracker::new();
    for id in notification.deliveries.iter().copied() {
        let deps = Arc::clone(&deps);
        let slots = Arc::clone(&slots);
        deliveries.spawn(async move {
            if let Some(mut slot) = Slot::take(&slots).await {
                process(&deps, id, &mut slot).await;
            }
        });
    }
    deliveries.close();
    deliveries.wait().await;
    notification.done().await;
}
