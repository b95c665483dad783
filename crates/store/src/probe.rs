//! Whether the database can do its work.

use async_trait::async_trait;
use pipeline::{Probe, ProbeError};

use crate::backend::{Backend, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> Probe for Database<B> {
    fn name(&self) -> &'static str {
        "database"
    }

    async fn probe(&self) -> Result<(), ProbeError> {
        match self.run(SHORT, is_writable).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ProbeError("the database is read-only".to_owned())),
            Err(error) => Err(ProbeError(error.to_string())),
        }
    }

    async fn needs_restart(&self) -> bool {
        self.session.backend.needs_restart().await
    }
}

/// Whether deliveries can be written. A Postgres standby can be read but is read-only. In
/// `SQLite` an update takes the write lock even if it matches no row; if it cannot, this is
/// an error.
async fn is_writable<B: Backend>(session: Session<B>) -> Result<bool, Fault> {
    let is_read_only: Option<bool> = query::<B>(Sql {
        postgres: "SELECT current_setting('transaction_read_only') = 'on'
                   FROM (SELECT count(*) FROM (SELECT FROM deliveries LIMIT 1) one) looked",
        sqlite: "UPDATE deliveries SET source = source WHERE id = x'' RETURNING false",
    })
    .scalar(&mut *session.writer().await?)
    .await?;
    Ok(is_read_only != Some(true))
}
