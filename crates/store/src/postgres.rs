//! Postgres: connecting, lending connections, listening for notifications.

mod connect;
mod deliveries;
mod link;
mod listen;
mod pool;
mod schema;
mod unreachable;

use sqlx::Connection as _;
use uuid::Uuid;

use crate::backend::{Backend, Columns, ConnectionCount, End, Prepared, Sql, Value};
use crate::batch::{Batch, Unrecorded};
use crate::database::Database;
use crate::fault::Fault;
use crate::migrations::{Migrated, MigrationPlan};
use crate::open::OpenError;
use crate::settings::Settings;
use crate::watches::Watches;

use link::Link;
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
        let (options, direct) = (
            connect::options(settings)?,
            connect::direct_options(settings)?,
        );
        let pool = connect::pool(settings, options.clone()).await?;
        let pool = Pool::over(pool, settings);
        let lent = pool.lend().await;
        let mut link = lent.map_err(|error| unreachable::explain(&options, &error))?;
        let mut connection = schema::connect(&direct).await?;
        connect::refuse_other_server(&mut link, &mut connection).await?;
        if !settings.allow_unsafe {
            connect::refuse_unsafe(&mut connection).await?;
        }
        let applied = schema::applied(&mut connection).await?;
        applied.accept_newer()?;
        applied.refuse_missing()?;
        connection.close().await.map_err(connect::check_error)?;
        let watches = Watches::default();
        let listener = Listener::new(direct, watches.clone(), settings.tasks.clone());
        Ok(Self::over(Postgres { pool, listener }, secrets, watches))
    }

    pub(crate) async fn migrate(settings: &Settings) -> Result<Migrated, OpenError> {
        schema::migrate(&connect::migration_options(settings)?).await
    }

    pub(crate) async fn plan(settings: &Settings) -> Result<MigrationPlan, OpenError> {
        schema::plan(&connect::migration_options(settings)?).await
    }
}

impl Backend for Postgres {
    type Driver = sqlx::Postgres;
    type Connection = Link;
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

    async fn begin(link: &mut Link) -> Result<(), sqlx::Error> {
        link.begin().await
    }

    async fn end(link: &mut Link, how: End) -> Result<(), sqlx::Error> {
        link.end(how).await
    }

    fn bind<'v, T: Value<'v>>(query: Prepared<Self>, value: T) -> Prepared<Self> {
        query.bind(value)
    }

    async fn execute(link: &mut Link, query: Prepared<Self>) -> Result<u64, sqlx::Error> {
        link.execute(query).await
    }

    async fn fetch<R: Columns>(
        link: &mut Link,
        query: Prepared<Self>,
    ) -> Result<Vec<R>, sqlx::Error> {
        let rows = link.fetch(query).await?;
        rows.iter().map(R::from_row).collect()
    }

    /// The pool ends the transaction of every connection that comes back.
    fn discard(_lent: &mut Lent) {}

    const MOST_BYTES: usize = usize::MAX;

    async fn insert_deliveries(
        link: &mut Link,
        batch: &Batch,
        unrecorded: &[Unrecorded],
    ) -> Result<Vec<Uuid>, Fault> {
        deliveries::insert(link, batch, unrecorded).await
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
    async fn truncate_log(_: &mut Link) -> Result<(), sqlx::Error> {
        Ok(())
    }

    async fn close(&self) {
        self.listener.stop();
        self.pool.close().await;
    }
}
