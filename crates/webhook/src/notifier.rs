//! Notifies workers of committed deliveries, in the background. No answer waits
//! for it or depends on it: the sweeper finds what it could not announce.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{DeliveryId, Doorbell, Meters};
use tokio::sync::{Mutex, mpsc};
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

/// How many commits may wait for their notification. Notifications beyond that are dropped, and the
/// sweeper announces them.
const MOST_WAITING: usize = 256;
/// How many commits one notification may cover when the doorbell is slower than the commits.
const MOST_MERGED: usize = 16;
/// How long the next notification waits, so that it covers more deliveries. A message costs the
/// broker about as much as ten acknowledgements cost this process. No mail that comes alone
/// waits, because the one before it was read for longer than this.
const PAUSE: Duration = Duration::from_millis(2);
/// The same after a notification of many deliveries: the workers have enough to do meanwhile.
const LONG_PAUSE: Duration = Duration::from_millis(5);
const MANY: usize = 8;
/// A doorbell has its own deadline. This one only keeps a broken doorbell from
/// delaying shutdown.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A handle to the notifier task. The task ends when the last handle is dropped and
/// the last notification is sent.
#[derive(Clone)]
pub(crate) struct Notifier {
    waiting: mpsc::Sender<Vec<DeliveryId>>,
    meters: Meters,
}

impl Notifier {
    pub(crate) fn start(doorbell: Arc<dyn Doorbell>, meters: Meters, tasks: &TaskTracker) -> Self {
        let (waiting, commits) = mpsc::channel(MOST_WAITING);
        let (commits, running) = (Arc::new(Mutex::new(commits)), meters.clone());
        tasks.spawn(async move {
            let start = || async { run(&mut *commits.lock().await, &*doorbell, &running).await };
            running.tasks.keep_running("notifier", sleep, start).await;
        });
        Self { waiting, meters }
    }

    /// Notifies once of the deliveries of one commit.
    pub(crate) fn notify(&self, deliveries: Vec<DeliveryId>) {
        if !deliveries.is_empty() && self.waiting.try_send(deliveries).is_err() {
            count(&self.meters, "dropped");
        }
    }
}

async fn run(
    commits: &mut mpsc::Receiver<Vec<DeliveryId>>,
    doorbell: &dyn Doorbell,
    meters: &Meters,
) {
    let mut waiting = Vec::with_capacity(MOST_MERGED);
    let unavailable = &meters.queue_unavailable;
    while commits.recv_many(&mut waiting, MOST_MERGED).await > 0 {
        let deliveries: Vec<DeliveryId> = waiting.drain(..).flatten().collect();
        match tokio::time::timeout(TIMEOUT, doorbell.notify(&deliveries)).await {
            Ok(Ok(())) => {
                unavailable.set(0);
                count(meters, "sent");
            }
            // Only the first failure is logged: an outage may last for thousands of
            // commits.
            failed => {
                if unavailable.set(1) == 0 {
                    let error = match failed {
                        Ok(refused) => refused.err().map(|error| error.to_string()),
                        Err(late) => Some(late.to_string()),
                    };
                    tracing::warn!(
                        error,
                        "the queue is unavailable; workers look into the database"
                    );
                }
                count(meters, "failed");
            }
        }
        let is_busy = deliveries.len() >= MANY;
        sleep(if is_busy { LONG_PAUSE } else { PAUSE }).await;
    }
}

fn count(meters: &Meters, outcome: &'static str) {
    meters.notifications("webhook", outcome).inc();
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;
    use std::time::Instant;

    use async_trait::async_trait;
    use pipeline::QueueError;
    use prometheus_client::registry::Registry;
    use tokio::sync::Notify;

    use super::*;

    /// A doorbell that remembers when it was rung, and for how many deliveries.
    #[derive(Default)]
    struct Rings {
        all: StdMutex<Vec<(Instant, usize)>>,
        rung: Notify,
    }

    #[async_trait]
    impl Doorbell for Rings {
        async fn notify(&self, deliveries: &[DeliveryId]) -> Result<(), QueueError> {
            let ring = (Instant::now(), deliveries.len());
            self.all.lock().unwrap().push(ring);
            self.rung.notify_one();
            Ok(())
        }
    }

    /// Notifies of so many deliveries and then of one; returns how long that one waited.
    async fn wait_after(first: usize) -> Duration {
        let (rings, tasks) = (Arc::new(Rings::default()), TaskTracker::new());
        let meters = Meters::register(&mut Registry::default());
        let doorbell = Arc::<Rings>::clone(&rings);
        let notifier = Notifier::start(doorbell, meters, &tasks);
        let deliveries = |count: usize| (0..count).map(|_| DeliveryId::new()).collect();
        notifier.notify(deliveries(first));
        rings.rung.notified().await;
        notifier.notify(deliveries(1));
        drop(notifier);
        tasks.close();
        tasks.wait().await;
        let rings = rings.all.lock().unwrap();
        let [(earlier, many), (later, one)] = rings.as_slice() else {
            panic!("two notifications: {rings:?}");
        };
        assert_eq!((*many, *one), (first, 1));
        later.duration_since(*earlier)
    }

    #[tokio::test]
    async fn the_next_notification_waits_longer_after_many_deliveries() {
        assert!(wait_after(1).await >= PAUSE);
        assert!(wait_after(MANY).await >= LONG_PAUSE);
    }
}
