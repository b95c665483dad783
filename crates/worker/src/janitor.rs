//! The janitor deletes rows and values whose retention time is over, in small
//! batches.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{KindLabel, Meters, RetentionKind, RetentionLog, RetentionPeriods, StoreError};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How many rows one statement deletes. A small number keeps other callers from
/// waiting long for a lock or for the one SQLite writer.
const BATCH: u32 = 256;

/// Deletes what is past its retention time.
pub struct Janitor {
    /// Deletes from the database.
    pub retention: Arc<dyn RetentionLog>,
    /// Counters.
    pub meters: Meters,
    /// How long each kind of data is kept.
    pub keep: RetentionPeriods,
    /// How often it runs.
    pub every: Duration,
}

impl Janitor {
    /// Deletes everything that is past its retention time now.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let mut late = Duration::ZERO;
        for what in RetentionKind::ALL {
            let word = KindLabel {
                what: what.as_str(),
            };
            let counter = self.meters.wiped.get_or_create_owned(&word);
            loop {
                let gone = self.retention.discard(what, &self.keep, BATCH).await?;
                counter.inc_by(gone.count);
                late = late.max(gone.late);
                if gone.count < u64::from(BATCH) {
                    break;
                }
            }
        }
        let seconds = i64::try_from(late.as_secs()).unwrap_or(i64::MAX);
        self.meters.wipe_lag_seconds.set(seconds);
        Ok(())
    }

    /// Runs `clear` every `every` until `shutdown`.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut pace = interval(self.every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                _ = pace.tick() => {}
            }
            if let Err(error) = self.clear().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "expired data could not be deleted; the next run tries again"
                );
            }
        }
    }
}
