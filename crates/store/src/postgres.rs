//! Postgres: connecting, lending connections, listening for notifications.

mod connect;
mod deliveries;
mod listen;
mod pool;
mod schema;
mod unreachable;

use sqlx::{Executor, PgConnection};
use uuid::Uuid;

use crate::backend::{
    Backend, Columns, ConnectionCount, End, Prepared, Sql, Value, driver_methods,
};
use crate::batch::{Batch, Unrecorded};
use crate::database::Database;
use crate::fault::Fault;
use crate::migrations::{Migrated, MigrationPlan};
use crate::open::OpenError;
use crate::settings::Settings;
use crate::watches::Watches;

use listen::Listener;
use pool::{Lent, Pool};

/// A Postgres server.
pub(crate) struct Postgres {
    pool: Pool,
    listener: Listener,
}

impl Database<Postgres> {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let secrets = settings.secrets()?;
        if settings.migrate {
            Self::migrate(settings).await?;
        }
        let options = connect::options(settings)?;
        let pool = Pool::over(connect::pool(settings, options.clone()).await?);
        let lent = pool.lend().await;
        let mut connection = lent.map_err(|error| unreachable::explain(&options, &error))?;
        if !settings.allow_unsafe {
            connect::refuse_unsafe(&mut connection).await?;
        }
        let applied = schema::applied(&mut connection).await?;
        applied.accept_newer()?;
        applied.refuse_missing()?;
        let watches = Watches::default();
        let listener = Listener::new(options, watches.clone(), settings.tasks.clone());
        Ok(Self::over(Postgres { pool, listener }, secrets, watches))
    }

    pub(crate) async fn migrate(settings: &Settings) -> Result<Migrated, OpenError> {
        schema::migrate(&connect::plain_options(settings)?).await
    }

    pub(crate) async fn plan(settings: &Settings) -> Result<MigrationPlan, OpenError> {
        schema::plan(&connect::plain_options(settings)?).await
    }
}

impl Backend for Postgres {
    type Driver = sqlx::Postgres;
    type Lent = Lent;

    fn text(sql: Sql) -> &'static str {
        sql.postgres
    }

    async fn lend_writer(&self) -> Result<Lent, sqlx::Error> {
        self.pool.lend().await
    }

    async fn lend_reader(&self) -> Result<Lent, sqlx::Error> {
        self.pool.lend().await
    }

    async fn begin(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        connection.execute("BEGIN").await.map(drop)
    }

    driver_methods!(PgConnection);

    /// The pool ends the transaction of every connection that comes back.
    fn discard(_lent: &mut Lent) {}

    /// While one waits for the disk, another is sent.
    const UNITS_AT_ONCE: usize = 2;

    const INSERTS_MANY: bool = true;

    async fn insert_deliveries(
        connection: &mut PgConnection,
        batch: &Batch,
        unrecorded: &[Unrecorded],
    ) -> Result<Vec<Uuid>, Fault> {
        deliveries::insert(connection, batch, unrecorded).await
    }

    const NOTIFIES: bool = true;

    fn connections(&self) -> ConnectionCount {
        self.pool.connections()
    }

    /// The pool replaces its connections by itself.
    async fn needs_restart(&self) -> bool {
        false
    }

    fn watch(&self) {
        self.listener.start();
    }

    /// The server keeps its log for as long as it needs it.
    async fn truncate_log(_: &mut PgConnection) -> Result<(), sqlx::Error> {
        Ok(())
    }

    async fn close(&self) {
        self.listener.stop();
        self.pool.close().await;
    }
}
