//! Connections and their options, each with its reason.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqlitePool};

use crate::open::OpenError;
use crate::settings::Settings;

fn options(path: &str) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        // A checkpoint or another connection may hold a lock for a short time.
        .busy_timeout(Duration::from_secs(5))
        // The log of statements has no values, and so no use.
        .disable_statement_logging()
}

/// How the one connection that writes is opened.
pub(super) fn writer_options(settings: &Settings, path: &str) -> SqliteConnectOptions {
    options(path)
        // A guest that finds no database has the wrong path, so it creates none.
        .create_if_missing(!settings.guest)
        // Readers see the last commit while the writer is at work.
        .journal_mode(SqliteJournalMode::Wal)
        // A commit is on disk when it is reported; less would lose acknowledged
        // deliveries when the power fails.
        .synchronous(SqliteSynchronous::Full)
        // Deleted and wiped bytes are overwritten with zeros; free pages would keep
        // them otherwise until they are used again.
        .pragma("secure_delete", "ON")
        .foreign_keys(true)
}

/// The one connection that writes.
pub(super) async fn writer(settings: &Settings, path: &str) -> Result<SqlitePool, OpenError> {
    pool(settings, 1)
        .connect_with(writer_options(settings, path))
        .await
        .map_err(connect_error)
}

/// The connections that read; `SQLite` refuses writes on them.
pub(super) async fn readers(settings: &Settings, path: &str) -> Result<SqlitePool, OpenError> {
    pool(settings, settings.max_connections.saturating_sub(1).max(1))
        .connect_with(options(path).read_only(true))
        .await
        .map_err(connect_error)
}

fn pool(settings: &Settings, connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(settings.acquire_timeout)
        // A file has no failover: connections are kept.
        .max_lifetime(None)
        .idle_timeout(None)
        .test_before_acquire(false)
}

/// Refuses a library that may damage the file when its log is reset (fixed in
/// 3.51.3).
pub(super) async fn refuse_old_library(pool: &SqlitePool) -> Result<(), OpenError> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(pool)
        .await
        .map_err(check_error)?;
    if is_sound(&version) {
        return Ok(());
    }
    Err(OpenError::SqliteTooOld(version))
}

fn is_sound(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|n| n.parse().ok()).collect();
    numbers >= vec![3, 51, 3]
}

pub(super) fn connect_error(error: sqlx::Error) -> OpenError {
    OpenError::Connect(Box::new(error))
}

pub(super) fn check_error(error: sqlx::Error) -> OpenError {
    OpenError::Check(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_before_3_51_3_is_refused() {
        for old in ["3.40.1", "3.51.2", "3.9.9", "2.99.0", "", "x"] {
            assert!(!is_sound(old), "{old}");
        }
        for sound in ["3.51.3", "3.52.0", "4.0.0"] {
            assert!(is_sound(sound), "{sound}");
        }
    }

    #[tokio::test]
    async fn a_commit_is_on_disk_when_it_is_reported() {
        let name = format!("maillatch-connect-{}.db", uuid::Uuid::new_v4());
        let path = std::env::temp_dir().join(name);
        let settings = Settings::new("sqlite:".into());
        let writer = writer(&settings, path.to_str().unwrap()).await.unwrap();
        let pragmas: (String, i64, i64, i64) = sqlx::query_as(
            "SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys,
                           pragma_busy_timeout",
        )
        .fetch_one(&writer)
        .await
        .unwrap();
        let full = 2;
        assert_eq!(pragmas, ("wal".to_owned(), full, 1, 5000));
        refuse_old_library(&writer).await.unwrap();
        writer.close().await;
        std::fs::remove_file(path).unwrap();
    }
}
