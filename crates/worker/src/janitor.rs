//! The janitor deletes rows and values whose retention time is over, in small
//! batches, and bodies before their time while the quota is exceeded.

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Meters, RetentionKind, RetentionLog, RetentionPeriods, StorageQuota, StoreError};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

/// How many rows one statement deletes. A small number keeps other callers from
/// waiting long for a lock or for the one SQLite writer.
const BATCH: u32 = 256;

/// After a batch the janitor rests so many times as long as the batch took, up to
/// [`LONGEST_REST`].
const REST: u32 = 3;
/// The longest rest. A batch of more than a third of a second takes more than a quarter of the
/// time.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Measuring may take up to one part in this many of the time.
const MEASURING_SHARE: u32 = 20;

/// How much longer than three rounds nothing may be deleted.
const SLACK: Duration = Duration::from_secs(5);

/// Deletes what is past its retention time or exceeds the quota.
pub struct Janitor {
    /// Deletes from the database.
    pub retention: Arc<dyn RetentionLog>,
    /// Counters.
    pub meters: Meters,
    /// How long each kind of data is kept.
    pub keep: RetentionPeriods,
    /// How many bytes of bodies are kept.
    pub quota: Arc<StorageQuota>,
    /// How often it runs.
    pub every: Duration,
}

impl Janitor {
    /// Deletes everything that is past its retention time now. If one kind fails, the
    /// others are still deleted, and the first error is returned.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let mut late = Duration::ZERO;
        let mut first_error = None;
        for what in RetentionKind::ALL {
            match self.clear_kind(what).await {
                Ok(overdue) => late = late.max(overdue),
                Err(error) => {
                    tracing::warn!(
                        kind = what.as_str(),
                        error = &error as &dyn std::error::Error,
                        "expired data could not be deleted; the next run tries again"
                    );
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        let seconds = i64::try_from(late.as_secs()).unwrap_or(i64::MAX);
        self.meters.wipe_lag_seconds.set(seconds);
        self.note_step();
        Ok(())
    }

    /// Deletes what is past its retention time of one kind, and returns how overdue it was. While
    /// there is more than one batch, this rests after each of them: posts and mails are written to
    /// the same tables, and no request waits for a deletion.
    async fn clear_kind(&self, what: RetentionKind) -> Result<Duration, StoreError> {
        let counter = self.meters.wiped(what.as_str());
        let mut late = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let gone = self.retention.discard(what, &self.keep, BATCH).await?;
            counter.inc_by(gone.count);
            late = late.max(gone.late);
            if gone.count < u64::from(BATCH) {
                return Ok(late);
            }
            // A long round is not stuck.
            self.note_step();
            rest_after(begun).await;
        }
    }

    /// Measures the stored bodies, and deletes bodies of finished deliveries while all of
    /// them exceed the quota.
    pub async fn keep_quota(&self) -> Result<(), StoreError> {
        self.quota
            .set_unfinished(self.retention.unfinished_bytes().await?);
        let finished = self.retention.finished_bytes().await?;
        let stored = self.quota.unfinished().saturating_add(finished);
        self.meters
            .set_stored("unfinished", self.quota.unfinished());
        self.meters.set_stored("finished", finished);
        let Some(most) = self.quota.bytes() else {
            return Ok(());
        };
        let mut excess = stored.saturating_sub(most);
        let counter = self.meters.wiped("bodies_over_quota");
        self.quota.set_freeing(excess > 0);
        while excess > 0 {
            let begun = Instant::now();
            let freed = self.retention.free_bodies(excess, BATCH).await?;
            self.note_step();
            counter.inc_by(freed.count);
            excess = excess.saturating_sub(freed.bytes);
            if freed.count == 0 || excess == 0 {
                break;
            }
            rest_after(begun).await;
        }
        Ok(())
    }

    /// Notes that something was done. A round in which a kind fails is not noted at its end, or
    /// nobody would notice that this kind is never deleted.
    fn note_step(&self) {
        let within = 3 * self.every + SLACK;
        self.meters.tasks.round("janitor", within);
    }

    /// Runs `clear` and `keep_quota` every `every` until `shutdown`. A shutdown does not wait for
    /// a long round; the store finishes the statement that runs.
    pub async fn run(&self, shutdown: CancellationToken) {
        self.note_step();
        let mut pace = interval(self.every);
        let mut next_measurement = Instant::now();
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let rounds = async {
            loop {
                pace.tick().await;
                self.round(&mut next_measurement).await;
            }
        };
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = rounds => {}
        }
    }

    /// Clears once, and keeps the quota if it is time to measure.
    async fn round(&self, next_measurement: &mut Instant) {
        // It has logged what failed.
        drop(self.clear().await);
        let begun = Instant::now();
        if begun < *next_measurement {
            return;
        }
        if let Err(error) = self.keep_quota().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the quota could not be checked; the next run tries again"
            );
        }
        *next_measurement = begun + begun.elapsed() * MEASURING_SHARE;
    }
}

async fn rest_after(begun: Instant) {
    sleep((begun.elapsed() * REST).min(LONGEST_REST)).await;
}

#[cfg(test)]
mod tests;
