//! Which migrations the file has, and applying the others.

use std::path::Path;

use sqlx::SqlitePool;

use super::connect::{self, check_error, connect_error};
use crate::migrations::{self, Applied, Migrated, MigrationPlan};
use crate::open::OpenError;
use crate::settings::Settings;

/// The migrations that were applied.
async fn applied(pool: &SqlitePool) -> Result<Applied, OpenError> {
    let is_migrated: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(pool)
    .await
    .map_err(check_error)?;
    if !is_migrated {
        return Ok(Applied::default());
    }
    let rows = sqlx::query_as(migrations::APPLIED);
    let rows = rows.fetch_all(pool).await.map_err(check_error)?;
    Ok(Applied::new(rows))
}

/// Applies the missing ones; the lock file keeps other processes out meanwhile.
pub(super) async fn migrate(writer: &SqlitePool) -> Result<Migrated, OpenError> {
    let before = applied(writer).await?;
    before.accept_newer()?;
    let mut connection = writer.acquire().await.map_err(connect_error)?;
    migrations::migrator(|twin| twin.sqlite)
        .run_direct(None, &mut *connection, false)
        .await
        .map_err(migrations::refused)?;
    Ok(before.completed())
}

/// What applying them would do. A file that does not exist has none.
pub(super) async fn plan(settings: &Settings, path: &str) -> Result<MigrationPlan, OpenError> {
    if !Path::new(path).exists() {
        return Ok(Applied::default().plan());
    }
    let readers = connect::readers(settings, path).await?;
    let applied = applied(&readers).await;
    readers.close().await;
    Ok(applied?.plan())
}

/// Refuses a file that lacks a migration of this binary: for a guest, which does not
/// migrate.
pub(super) async fn refuse_other(writer: &SqlitePool) -> Result<(), OpenError> {
    let applied = applied(writer).await?;
    applied.accept_newer()?;
    applied.refuse_missing()
}
