//! Tells a configured receiver that a thread was handed over to a person.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Handover, ThreadLog, Timestamp};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{BATCH, Callbacks, FIRST_WAIT, LEASE, LONGEST_WAIT};

/// After how many tries it is given up. The thread stays handed over, and listed.
const MOST_TRIES: u32 = 200;

impl Callbacks {
    /// Posts the news of threads that were handed over, until stopped.
    pub async fn run_handovers(
        &self,
        threads: Arc<dyn ThreadLog>,
        every: Duration,
        stop: CancellationToken,
    ) {
        while !stop.is_cancelled() {
            self.post_handovers(&*threads).await;
            if stop.run_until_cancelled(sleep(every)).await.is_none() {
                return;
            }
        }
    }

    /// Posts the handover notices that are due, and returns how many were claimed.
    pub async fn post_handovers(&self, threads: &dyn ThreadLog) -> usize {
        let claimed = threads.claim_handovers(BATCH, LEASE).await;
        let claimed = claimed.unwrap_or_else(|error| {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "failed to claim the handover notices that are due");
            Vec::new()
        });
        let count = claimed.len();
        for handover in claimed {
            let wait = self.attempt_handover(&handover).await;
            let ended = threads.end_handover(handover.thread.id, handover.token, wait);
            if let Err(error) = ended.await {
                // The receiver detects the duplicate.
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    thread.id = %handover.thread.id, error,
                    "failed to record the result of a handover notice; \
                     it is posted again after its lease"
                );
            }
        }
        count
    }

    /// Posts once; returns the wait until the next try, if it failed.
    async fn attempt_handover(&self, handover: &Handover) -> Option<Duration> {
        let (thread, name) = (handover.thread.id, handover.callback.as_str());
        let id = id_of(handover);
        let posted = self.post_to(name, &id, &body(handover)).await;
        let Err(failed) = posted else {
            self.meters.callbacks(name, "done").inc();
            tracing::info!(thread.id = %thread, callback.name = name, "handover was reported");
            return None;
        };
        let growth = 2_u32.saturating_pow(handover.tries.saturating_sub(1));
        let wait = FIRST_WAIT.saturating_mul(growth).min(LONGEST_WAIT);
        let is_dead = handover.tries >= MOST_TRIES || failed.reason.as_str() == "gone";
        let outcome = if is_dead { "dead" } else { "retry_later" };
        self.meters.callbacks(name, outcome).inc();
        tracing::warn!(
            thread.id = %thread, callback.name = name, reason = %failed.reason,
            status = failed.status, outcome, "handover could not be reported"
        );
        (!is_dead).then_some(wait)
    }
}

/// The id by which the receiver detects duplicates: the same on every try, and another
/// one when the thread is handed over again.
fn id_of(handover: &Handover) -> String {
    let at = handover.thread.handed_over_at.map(Timestamp::as_millis);
    format!("{}-{}", handover.thread.id, at.unwrap_or_default())
}

/// Ids and words of closed lists; no text of a mail.
fn body(handover: &Handover) -> Value {
    let thread = &handover.thread;
    json!({
        "type": "thread.handed_over",
        "timestamp": thread.handed_over_at,
        "data": {
            "thread": thread.id,
            "inbox": thread.inbox,
            "message": thread.message,
            "reason": thread.reason,
            "replies": thread.replies,
        },
    })
}
