//! Whether the database can do its work.

use async_trait::async_trait;
use pipeline::{Probe, ProbeError};

use super::Postgres;
use super::pool::Pool;
use crate::database::Database;
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl Probe for Database<Postgres> {
    fn name(&self) -> &'static str {
        "database"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        let is_writable = self
            .work
            .run(SHORT, is_writable(self.session.backend.pool.clone()))
            .await;
        match is_writable {
            Ok(true) => Ok(()),
            Ok(false) => Err(ProbeError("the database is read-only".to_owned())),
            Err(error) => Err(ProbeError(error.to_string())),
        }
    }
}

/// Reads the table that a 2xx depends on, and asks whether it may be written: a
/// standby answers reads and refuses deliveries.
async fn is_writable(pool: Pool) -> Result<bool, Fault> {
    let is_read_only: bool = sqlx::query_scalar(
        "SELECT current_setting('transaction_read_only') = 'on'
         FROM (SELECT count(*) FROM (SELECT FROM deliveries LIMIT 1) one) looked",
    )
    .fetch_one(&mut *pool.lend().await?)
    .await?;
    Ok(!is_read_only)
}
