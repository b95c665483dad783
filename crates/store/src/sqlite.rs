//! `SQLite`: one file, one process, one writer.

mod connect;
mod deliveries;
mod lock;
mod recovery;
mod schema;

use sqlx::pool::PoolConnection;
use sqlx::{Executor, SqliteConnection, SqlitePool};
use uuid::Uuid;

use crate::backend::{Backend, Columns, ConnectionCount, End, Prepared, Sql, Value};
use crate::batch::{Batch, Unrecorded};
use crate::database::Database;
use crate::fault::Fault;
use crate::migrations::{Migrated, MigrationPlan};
use crate::open::OpenError;
use crate::settings::Settings;
use crate::watches::Watches;

use lock::FileLock;
use recovery::Recovery;

/// A `SQLite` file.
pub(crate) struct Sqlite {
    /// One connection: writers wait here, in order, and not in `SQLite`, where the order
    /// is random.
    writer: SqlitePool,
    readers: SqlitePool,
    /// `None` for a guest, which does not take the lock.
    lock: Option<FileLock>,
    recovery: Recovery,
}

impl Database<Sqlite> {
    pub(crate) async fn open(settings: &Settings, path: &str) -> Result<Self, OpenError> {
        let opened = Self::open_file(settings, path).await;
        opened.map_err(|error| recovery::name_full_disk(error, path))
    }

    async fn open_file(settings: &Settings, path: &str) -> Result<Self, OpenError> {
        let secrets = settings.secrets()?;
        let lock = (!settings.guest)
            .then(|| FileLock::take(path))
            .transpose()?;
        let writer = connect::writer(settings, path).await?;
        connect::refuse_old_library(&writer).await?;
        if lock.is_some() {
            schema::migrate(&writer).await?;
            // The lock proves that the process that held a claim is gone.
            lock::release_orphans(&writer).await?;
        } else {
            schema::refuse_other(&writer).await?;
        }
        let backend = Sqlite {
            readers: connect::readers(settings, path).await?,
            writer,
            lock,
            recovery: Recovery::new(connect::writer_options(settings, path)),
        };
        Ok(Self::over(backend, secrets, Watches::default()))
    }

    pub(crate) async fn migrate(settings: &Settings, path: &str) -> Result<Migrated, OpenError> {
        let migrated = Self::migrate_file(settings, path).await;
        migrated.map_err(|error| recovery::name_full_disk(error, path))
    }

    async fn migrate_file(settings: &Settings, path: &str) -> Result<Migrated, OpenError> {
        let _lock = FileLock::take(path)?;
        let writer = connect::writer(settings, path).await?;
        connect::refuse_old_library(&writer).await?;
        let migrated = schema::migrate(&writer).await;
        writer.close().await;
        migrated
    }

    pub(crate) async fn plan(settings: &Settings, path: &str) -> Result<MigrationPlan, OpenError> {
        schema::plan(settings, path).await
    }
}

impl Backend for Sqlite {
    type Driver = sqlx::Sqlite;
    type Connection = SqliteConnection;
    type Lent = PoolConnection<sqlx::Sqlite>;

    fn text(sql: Sql) -> &'static str {
        sql.sqlite
    }

    async fn lend_writer(&self) -> Result<Self::Lent, sqlx::Error> {
        self.writer.acquire().await
    }

    async fn lend_reader(&self) -> Result<Self::Lent, sqlx::Error> {
        self.readers.acquire().await
    }

    /// Takes the write lock at once: a transaction that reads first and writes later
    /// could find that another connection has written meanwhile, and fail.
    async fn begin(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        connection.execute("BEGIN IMMEDIATE").await.map(drop)
    }

    async fn end(connection: &mut SqliteConnection, how: End) -> Result<(), sqlx::Error> {
        connection.execute(how.command()).await.map(drop)
    }

    fn bind<'v, T: Value<'v>>(query: Prepared<Self>, value: T) -> Prepared<Self> {
        query.bind(value)
    }

    async fn execute(
        connection: &mut SqliteConnection,
        query: Prepared<Self>,
    ) -> Result<u64, sqlx::Error> {
        Ok(query.execute(connection).await?.rows_affected())
    }

    async fn fetch<R: Columns>(
        connection: &mut SqliteConnection,
        query: Prepared<Self>,
    ) -> Result<Vec<R>, sqlx::Error> {
        let rows = query.fetch_all(connection).await?;
        rows.iter().map(R::from_row).collect()
    }

    /// A new connection takes its place; closing ends the transaction.
    fn discard(lent: &mut Self::Lent) {
        lent.close_on_drop();
    }

    /// They are copied into one value.
    const MOST_BYTES: usize = 512 * 1024;

    async fn insert_deliveries(
        connection: &mut SqliteConnection,
        batch: &Batch,
        unrecorded: &[Unrecorded],
    ) -> Result<Vec<Uuid>, Fault> {
        deliveries::insert(connection, batch, unrecorded).await
    }

    /// Only one process opens the file.
    const NOTIFIES: bool = false;

    fn connections(&self) -> ConnectionCount {
        let (writer, readers) = (
            ConnectionCount::of(&self.writer),
            ConnectionCount::of(&self.readers),
        );
        ConnectionCount {
            idle: writer.idle + readers.idle,
            used: writer.used + readers.used,
            most: writer.most + readers.most,
        }
    }

    async fn needs_restart(&self) -> bool {
        self.recovery.needs_restart(&self.writer).await
    }

    fn watch(&self) {}

    /// Copies the write-ahead log into the file and truncates it. While a reader is in
    /// the way it stays as it is; the next wipe or checkpoint truncates it.
    async fn truncate_log(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.execute(checkpoint).await.map(drop)
    }

    async fn close(&self) {
        self.readers.close().await;
        // The last connection to close copies the write-ahead log into the file.
        self.writer.close().await;
        if let Some(lock) = &self.lock {
            lock.release();
        }
    }
}
