//! Which migrations the file has, and applying the others.

use sqlx::SqlitePool;

use super::connect::{check_error, connect_error};
use crate::migrations::{self, Migrated};
use crate::open::OpenError;

/// The versions that were applied.
async fn present(writer: &SqlitePool) -> Result<Vec<i64>, OpenError> {
    let is_migrated: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(writer)
    .await
    .map_err(check_error)?;
    if !is_migrated {
        return Ok(Vec::new());
    }
    sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success ORDER BY version")
        .fetch_all(writer)
        .await
        .map_err(check_error)
}

/// Applies the missing ones; the lock file keeps others away meanwhile.
pub(super) async fn migrate(writer: &SqlitePool) -> Result<Migrated, OpenError> {
    let before = present(writer).await?;
    migrations::refuse_newer(&before)?;
    let mut connection = writer.acquire().await.map_err(connect_error)?;
    migrations::migrator(|twin| twin.sqlite)
        .run_direct(None, &mut *connection, false)
        .await
        .map_err(migrations::refused)?;
    Ok(Migrated::since(&before))
}

/// Refuses a file that was not migrated to what this binary needs, for whoever
/// may not migrate it.
pub(super) async fn refuse_other(writer: &SqlitePool) -> Result<(), OpenError> {
    let present = present(writer).await?;
    migrations::refuse_newer(&present)?;
    migrations::refuse_missing(&present)
}
