//! Rings the bell for what was committed, in the background. No answer waits
//! for it and no answer depends on it: what it cannot ring, the sweeper finds.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{DeliveryId, Doorbell, Meters, OutcomeLabel};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

/// Commits whose ring may wait. A bell that is this far behind is not rung for
/// the rest; the sweeper rings for them.
const MOST_WAITING: usize = 256;
/// Commits that one ring may stand for when the bell is slower than the commits.
const MOST_MERGED: usize = 16;
/// A bell has a deadline of its own; this one only keeps a broken bell from
/// holding up the end of the process.
const PATIENCE: Duration = Duration::from_secs(5);

/// A handle to the ringer; it ends when the last handle is gone and the last
/// ring is sent.
#[derive(Clone)]
pub(crate) struct Ringer {
    waiting: mpsc::Sender<Vec<DeliveryId>>,
    meters: Meters,
}

impl Ringer {
    pub(crate) fn start(bell: Arc<dyn Doorbell>, meters: Meters, tasks: &TaskTracker) -> Self {
        let (waiting, commits) = mpsc::channel(MOST_WAITING);
        tasks.spawn(run(commits, bell, meters.clone()));
        Self { waiting, meters }
    }

    /// Has the bell rung once for one commit's deliveries.
    pub(crate) fn ring(&self, deliveries: Vec<DeliveryId>) {
        if !deliveries.is_empty() && self.waiting.try_send(deliveries).is_err() {
            count(&self.meters, "dropped");
        }
    }
}

async fn run(
    mut commits: mpsc::Receiver<Vec<DeliveryId>>,
    bell: Arc<dyn Doorbell>,
    meters: Meters,
) {
    let mut waiting = Vec::with_capacity(MOST_MERGED);
    while commits.recv_many(&mut waiting, MOST_MERGED).await > 0 {
        let deliveries: Vec<DeliveryId> = waiting.drain(..).flatten().collect();
        match tokio::time::timeout(PATIENCE, bell.notify(&deliveries)).await {
            Ok(Ok(())) => count(&meters, "heard"),
            Ok(Err(error)) => {
                tracing::warn!(%error, deliveries = deliveries.len(), "the bell did not ring");
                count(&meters, "failed");
            }
            Err(_) => {
                tracing::warn!(deliveries = deliveries.len(), "the bell did not answer");
                count(&meters, "failed");
            }
        }
    }
}

fn count(meters: &Meters, outcome: &str) {
    meters
        .rings
        .get_or_create(&OutcomeLabel::new("webhook", outcome))
        .inc();
}
