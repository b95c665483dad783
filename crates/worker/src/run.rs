//! The worker's loop: take a notification from the queue, process its deliveries,
//! acknowledge it.

use std::sync::Arc;

use pipeline::{DoorbellListener, Notification};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contain;
use crate::deps::Deps;
use crate::process::process;

/// Works until `shutdown`, then finishes the deliveries in progress.
///
/// It takes a notification only when a slot is free, so that work it cannot begin yet
/// stays in the queue for another worker.
pub async fn run(
    deps: Arc<Deps>,
    mut listener: Box<dyn DoorbellListener>,
    shutdown: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(deps.settings.concurrency));
    let in_progress = TaskTracker::new();
    in_progress.spawn(contain::warm_up(deps.settings.parse_budget));
    while let Some(notification) = next_notification(&mut *listener, &slots, &shutdown).await {
        in_progress.spawn(process_all(
            Arc::clone(&deps),
            notification,
            Arc::clone(&slots),
        ));
    }
    in_progress.close();
    in_progress.wait().await;
}

async fn next_notification(
    listener: &mut dyn DoorbellListener,
    slots: &Semaphore,
    shutdown: &CancellationToken,
) -> Option<Notification> {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => None,
        notification = async {
            // This only checks that a slot is free. Each delivery of it takes
            // its own permit.
            let _slot = slots.acquire().await;
            listener.next().await
        } => notification,
    }
}

/// Processes every delivery of a notification, then acknowledges it. A delivery that was
/// not finished is still in its row, and the sweeper finds it when it is due.
async fn process_all(deps: Arc<Deps>, notification: Notification, slots: Arc<Semaphore>) {
    let deliveries = TaskTracker::new();
    for id in notification.deliveries.iter().copied() {
        let deps = Arc::clone(&deps);
        let slots = Arc::clone(&slots);
        deliveries.spawn(async move {
            if let Ok(_slot) = slots.acquire().await {
                process(&deps, id).await;
            }
        });
    }
    deliveries.close();
    deliveries.wait().await;
    notification.done().await;
}
