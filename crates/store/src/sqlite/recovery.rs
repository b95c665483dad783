//! What a full disk and other errors of the file leave behind. A transaction that fails
//! discards its connection, and the pool opens another one, so the writer recovers by
//! itself. If it does not, `/livez` says that the process needs a restart.

use std::error::Error;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};

use crate::open::OpenError;

/// How long the writer may fail before a new connection is tried in its place.
const PATIENT: Duration = Duration::from_mins(1);

/// Watches whether the writer works.
pub(super) struct Recovery {
    options: SqliteConnectOptions,
    failing_since: Mutex<Option<Instant>>,
}

impl Recovery {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self {
            options,
            failing_since: Mutex::new(None),
        }
    }

    /// Whether the writer has failed for a minute although a new connection to the same
    /// file can write. If that fails as well, the cause is the file or its disk, and a
    /// restart would not help.
    pub(super) async fn needs_restart(&self, writer: &SqlitePool) -> bool {
        let works = match writer.acquire().await {
            Ok(mut connection) => takes_write_lock(&mut connection).await,
            // Others use it: it works.
            Err(sqlx::Error::PoolTimedOut) => Ok(()),
            Err(error) => Err(error),
        };
        if !self.has_failed_for_long(works.is_err()) {
            return false;
        }
        let Ok(mut fresh) = self.options.connect().await else {
            return false;
        };
        let works = takes_write_lock(&mut fresh).await;
        // A connection that cannot be closed in good order is closed by being dropped.
        drop(fresh.close().await);
        works.is_ok()
    }

    fn has_failed_for_long(&self, has_failed: bool) -> bool {
        let mut since = self
            .failing_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !has_failed {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() >= PATIENT
    }
}

/// An update that finds no row takes the write lock and needs no space.
async fn takes_write_lock(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE deliveries SET source = source WHERE id = x''")
        .execute(connection)
        .await
        .map(drop)
}

/// Says that the disk is full, and where, if that is why a file cannot be opened.
pub(super) fn name_full_disk(error: OpenError, path: &str) -> OpenError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if is_full(error) {
            return OpenError::DiskFull(path.to_owned());
        }
        cause = error.source();
    }
    error
}

fn is_full(error: &(dyn Error + 'static)) -> bool {
    const FULL: &str = "13";
    if let Some(sqlx::Error::Database(refusal)) = error.downcast_ref() {
        return refusal.code().is_some_and(|code| code == FULL);
    }
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::StorageFull)
}

#[cfg(test)]
mod tests {
    use super::super::connect;
    use super::*;
    use crate::settings::Settings;

    async fn opened(path: &str) -> (SqlitePool, Recovery) {
        let settings = Settings::new("sqlite:".into());
        let writer = connect::writer(&settings, path).await.unwrap();
        sqlx::raw_sql("CREATE TABLE deliveries (id, source)")
            .execute(&writer)
            .await
            .unwrap();
        let recovery = Recovery::new(connect::writer_options(&settings, path));
        (writer, recovery)
    }

    fn long_ago() -> Mutex<Option<Instant>> {
        Mutex::new(Instant::now().checked_sub(PATIENT))
    }

    #[tokio::test]
    async fn a_writer_that_fails_while_the_file_works_needs_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maillatch.db");
        let (writer, mut recovery) = opened(path.to_str().unwrap()).await;
        recovery.failing_since = long_ago();
        assert!(!recovery.needs_restart(&writer).await);
        writer.close().await;
        assert!(!recovery.needs_restart(&writer).await, "it fails only now");
        recovery.failing_since = long_ago();
        assert!(recovery.needs_restart(&writer).await);
    }

    #[tokio::test]
    async fn a_file_that_fails_needs_no_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("maillatch.db");
        let (writer, mut recovery) = opened(path.to_str().unwrap()).await;
        writer.close().await;
        recovery.failing_since = long_ago();
        let fresh = recovery.options.connect().await.unwrap();
        sqlx::raw_sql("DROP TABLE deliveries")
            .execute(&mut { fresh })
            .await
            .unwrap();
        assert!(!recovery.needs_restart(&writer).await);
    }
}
