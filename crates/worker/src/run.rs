//! The loop: a bell rings, its deliveries are processed, the ring is answered.

use std::sync::Arc;

use pipeline::{DoorbellListener, Notification};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::process::process;
use crate::{Deps, contain};

/// Works until `shutdown`, then finishes what it has begun.
///
/// A ring is taken off the bell only when there is room to work on it, so that
/// what this worker cannot do yet stays on the queue for another one.
pub async fn run(
    deps: Arc<Deps>,
    mut bell: Box<dyn DoorbellListener>,
    shutdown: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(deps.settings.concurrency));
    let under_way = TaskTracker::new();
    under_way.spawn(contain::warm_up(deps.settings.parse_budget));
    while let Some(ring) = next_ring(&mut *bell, &room, &shutdown).await {
        under_way.spawn(answer(Arc::clone(&deps), ring, Arc::clone(&room)));
    }
    under_way.close();
    under_way.wait().await;
}

async fn next_ring(
    bell: &mut dyn DoorbellListener,
    room: &Semaphore,
    shutdown: &CancellationToken,
) -> Option<Notification> {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => None,
        ring = async {
            // Only a look at whether there is room: the permit itself is taken
            // by each delivery of the ring.
            let _room = room.acquire().await;
            bell.next().await
        } => ring,
    }
}

/// Processes every delivery of a ring, then answers it. Whatever could not be
/// finished is in its row, and the sweeper rings for it when it is due.
async fn answer(deps: Arc<Deps>, ring: Notification, room: Arc<Semaphore>) {
    let deliveries = TaskTracker::new();
    for id in ring.deliveries.iter().copied() {
        let deps = Arc::clone(&deps);
        let room = Arc::clone(&room);
        deliveries.spawn(async move {
            if let Ok(_permit) = room.acquire().await {
                process(&deps, id).await;
            }
        });
    }
    deliveries.close();
    deliveries.wait().await;
    ring.done().await;
}
