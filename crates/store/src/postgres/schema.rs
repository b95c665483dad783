//! Which migrations the database has, and applying the others.

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::connect::check_error;
use super::unreachable::explain;
use crate::migrations::{self, Applied, Migrated, MigrationPlan};
use crate::open::OpenError;

/// The migrations that were applied.
pub(super) async fn applied(connection: &mut PgConnection) -> Result<Applied, OpenError> {
    let is_migrated: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
            .fetch_one(&mut *connection)
            .await
            .map_err(check_error)?;
    if !is_migrated {
        return Ok(Applied::default());
    }
    let rows = sqlx::query_as(migrations::APPLIED);
    let rows = rows.fetch_all(connection).await.map_err(check_error)?;
    Ok(Applied::new(rows))
}

/// One connection of its own.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, OpenError> {
    let connected = options.connect().await;
    connected.map_err(|error| explain(options, &error))
}

/// Applies the missing ones, under an advisory lock: two processes that migrate at once
/// do it one after the other.
pub(super) async fn migrate(options: &PgConnectOptions) -> Result<Migrated, OpenError> {
    let mut connection = connect(options).await?;
    let before = applied(&mut connection).await?;
    before.accept_newer()?;
    migrations::migrator(|twin| twin.postgres)
        .run_direct(None, &mut connection, false)
        .await
        .map_err(migrations::refused)?;
    connection.close().await.map_err(check_error)?;
    Ok(before.completed())
}

/// What applying them would do.
pub(super) async fn plan(options: &PgConnectOptions) -> Result<MigrationPlan, OpenError> {
    let mut connection = connect(options).await?;
    let applied = applied(&mut connection).await?;
    connection.close().await.map_err(check_error)?;
    Ok(applied.plan())
}
