//! The seams over `SQLite`: one file, one process, one writer.

mod agents;
mod artifacts;
mod attempt_consumes;
mod attempts;
mod binding;
mod callbacks;
mod claims;
mod connect;
mod consumes;
mod deliveries;
mod expectations;
mod failures;
mod inboxes;
mod keys;
mod lock;
mod messages;
mod polls;
mod probe;
mod references;
mod requests;
mod reseal;
mod resends;
mod retention;
mod schema;
mod silence;

use sqlx::SqlitePool;

use crate::arrivals::Arrivals;
use crate::migrations::Migrated;
use crate::open::OpenError;
use crate::settings::{Secrets, Settings};
use crate::uncancelled::Uncancelled;

use lock::FileLock;

/// An open `SQLite` file.
pub(crate) struct Sqlite {
    /// One connection: whoever writes waits here, in order, and not in `SQLite`,
    /// where waiting is a lottery.
    writer: SqlitePool,
    readers: SqlitePool,
    secrets: Secrets,
    work: Uncancelled,
    arrivals: Arrivals,
    /// A guest has none.
    lock: Option<FileLock>,
}

impl Sqlite {
    pub(crate) async fn open(settings: &Settings, path: &str) -> Result<Self, OpenError> {
        let secrets = settings.secrets()?;
        let lock = (!settings.guest)
            .then(|| FileLock::take(path))
            .transpose()?;
        let writer = connect::writer(settings, path).await?;
        connect::refuse_old_library(&writer).await?;
        if lock.is_some() {
            schema::migrate(&writer).await?;
            // The lock proves that whoever held a claim is dead.
            claims::release_orphans(&writer).await?;
        } else {
            schema::refuse_other(&writer).await?;
        }
        Ok(Self {
            readers: connect::readers(settings, path).await?,
            writer,
            secrets,
            work: Uncancelled::default(),
            arrivals: Arrivals::default(),
            lock,
        })
    }

    pub(crate) async fn migrate(settings: &Settings, path: &str) -> Result<Migrated, OpenError> {
        let _lock = FileLock::take(path)?;
        let writer = connect::writer(settings, path).await?;
        connect::refuse_old_library(&writer).await?;
        let migrated = schema::migrate(&writer).await;
        writer.close().await;
        migrated
    }

    pub(crate) async fn close(&self) {
        self.work.finish().await;
        self.readers.close().await;
        // The last connection to close folds the write-ahead log into the file.
        self.writer.close().await;
        if let Some(lock) = &self.lock {
            lock.release();
        }
    }
}
