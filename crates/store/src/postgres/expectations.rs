//! What is expected at an address, for the worker that reads a mail sent there.

use pipeline::{AttemptId, Expectation, InboxId, OpenAttempt};
use sqlx::{PgConnection, Row};

use super::inboxes;
use super::pool::Pool;
use crate::fault::Fault;
use crate::waiting::{RulesRow, nothing_expected};

/// Looks up each address, in their order.
pub(super) async fn expectations(
    pool: Pool,
    addresses: Vec<InboxId>,
) -> Result<Vec<Expectation>, Fault> {
    let mut connection = pool.lend().await?;
    let mut expected = Vec::with_capacity(addresses.len());
    for address in addresses {
        expected.push(expectation(&mut connection, address).await?);
    }
    Ok(expected)
}

/// An address stands for the inbox of that very name, or else for the one
/// without its tag.
async fn expectation(
    connection: &mut PgConnection,
    address: InboxId,
) -> Result<Expectation, Fault> {
    let mut row = inboxes::find(&mut *connection, address.as_str()).await?;
    if row.is_none() {
        row = inboxes::find(&mut *connection, address.untagged().as_str()).await?;
    }
    match row {
        Some(row) => {
            let attempts = open_attempts(connection, &row.inbox).await?;
            row.expectation(address, attempts)
        }
        None => Ok(nothing_expected(address)),
    }
}

async fn open_attempts(
    connection: &mut PgConnection,
    inbox: &str,
) -> Result<Vec<OpenAttempt>, Fault> {
    // Mail may be read after the deadline that was received before it; which
    // attempt it is for is decided by the latter when it is written.
    let rows = sqlx::query(
        "SELECT id, wanted, senders, needs_proof, links, token FROM attempts
         WHERE inbox = $1 AND outcome IS NULL AND deadline > now() - interval '1 hour'
         ORDER BY opened_at, id",
    )
    .bind(inbox)
    .fetch_all(connection)
    .await?;
    let attempts = rows.iter().map(|row| {
        let rules = RulesRow {
            wanted: row.try_get("wanted")?,
            senders: row.try_get("senders")?,
            needs_proof: row.try_get("needs_proof")?,
            links: row.try_get("links")?,
            token: row.try_get("token")?,
        };
        Ok(OpenAttempt {
            id: AttemptId::from_uuid(row.try_get("id")?),
            rules: rules.try_into()?,
        })
    });
    attempts.collect()
}
