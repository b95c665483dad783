//! Which migrations the database has, and applying the others.

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::connect::{check_error, connect_error};
use crate::migrations::{self, Migrated};
use crate::open::OpenError;

/// The versions that were applied.
pub(super) async fn present(connection: &mut PgConnection) -> Result<Vec<i64>, OpenError> {
    let is_migrated: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
            .fetch_one(&mut *connection)
            .await
            .map_err(check_error)?;
    if !is_migrated {
        return Ok(Vec::new());
    }
    sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success ORDER BY version")
        .fetch_all(connection)
        .await
        .map_err(check_error)
}

/// Applies the missing ones, under an advisory lock: two that migrate at once
/// do it one after the other.
pub(super) async fn migrate(options: &PgConnectOptions) -> Result<Migrated, OpenError> {
    let mut connection = options.connect().await.map_err(connect_error)?;
    let before = present(&mut connection).await?;
    migrations::refuse_newer(&before)?;
    migrations::migrator(|twin| twin.postgres)
        .run_direct(None, &mut connection, false)
        .await
        .map_err(migrations::refused)?;
    connection.close().await.map_err(connect_error)?;
    Ok(Migrated::since(&before))
}
