//! The janitor: what was kept for its time goes, in small batches.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{KindLabel, Meters, RetentionKind, RetentionLog, RetentionPeriods, StoreError};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How many things one statement discards: few enough that nobody waits long for
/// a lock or for the one writer.
const BATCH: u32 = 256;

/// Clears away what nobody needs any more.
pub struct Janitor {
    /// Where it is cleared away.
    pub retention: Arc<dyn RetentionLog>,
    /// What is counted.
    pub meters: Meters,
    /// For how long things are kept.
    pub keep: RetentionPeriods,
    /// How often it looks.
    pub every: Duration,
}

impl Janitor {
    /// Discards everything whose time is over now.
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

    /// Clears away at its pace until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
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
                    "what is overdue could not be cleared away"
                );
            }
        }
    }
}
