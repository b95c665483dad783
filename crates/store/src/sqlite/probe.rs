//! Whether the database can do its work.

use async_trait::async_trait;
use pipeline::{Probe, ProbeError};
use sqlx::SqlitePool;

use super::Sqlite;
use crate::database::Database;
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl Probe for Database<Sqlite> {
    fn name(&self) -> &'static str {
        "database"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        let work = look(
            self.session.backend.writer.clone(),
            self.session.backend.readers.clone(),
        );
        let looked = self.work.run(SHORT, work).await;
        looked.map_err(|error| ProbeError(error.to_string()))
    }
}

/// Reads the table that a 2xx depends on, and takes the right to write and
/// gives it back.
async fn look(writer: SqlitePool, readers: SqlitePool) -> Result<(), Fault> {
    sqlx::query("SELECT 1 FROM deliveries LIMIT 1")
        .execute(&readers)
        .await?;
    let transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    transaction.rollback().await?;
    Ok(())
}
