//! What is expected at an address, for the worker that reads a mail sent there.

use pipeline::{AttemptId, Expectation, InboxId, OpenAttempt};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::database::Session;
use crate::fault::Fault;
use crate::inboxes;
use crate::waiting::{RulesRow, nothing_expected};

/// Looks up each address, in their order.
pub(crate) async fn expectations<B: Backend>(
    session: Session<B>,
    addresses: Vec<InboxId>,
) -> Result<Vec<Expectation>, Fault> {
    let mut connection = session.reader().await?;
    let mut expected = Vec::with_capacity(addresses.len());
    for address in addresses {
        expected.push(expectation::<B>(&mut connection, address).await?);
    }
    Ok(expected)
}

/// An address stands for the inbox of that very name, or else for the one
/// without its tag.
async fn expectation<B: Backend>(
    connection: &mut Connection<B>,
    address: InboxId,
) -> Result<Expectation, Fault> {
    let mut row = inboxes::find::<B>(connection, address.as_str()).await?;
    if row.is_none() {
        row = inboxes::find::<B>(connection, address.untagged().as_str()).await?;
    }
    match row {
        Some(row) => {
            let attempts = open_attempts::<B>(connection, &row.inbox).await?;
            row.expectation(address, attempts)
        }
        None => Ok(nothing_expected(address)),
    }
}

/// Mail that was received before a deadline may be read after it. Which attempt gets
/// the mail is decided by the time of receipt, when the mail is written.
async fn open_attempts<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
) -> Result<Vec<OpenAttempt>, Fault> {
    let rows: Vec<OpenRow> = query::<B>(Sql {
        postgres: "SELECT id, wanted, senders, needs_proof, links, token FROM attempts
             WHERE inbox = $1 AND outcome IS NULL AND deadline > now() - interval '1 hour'
             ORDER BY opened_at, id",
        sqlite: "SELECT id, wanted, senders, needs_proof, links, token FROM attempts
             WHERE inbox = $1 AND outcome IS NULL AND deadline > (SELECT now FROM clock) - 3600000
             ORDER BY opened_at, id",
    })
    .bind(inbox)
    .fetch_all(connection)
    .await?;
    let attempts = rows.into_iter().map(|row| {
        Ok(OpenAttempt {
            id: AttemptId::from_uuid(row.id),
            rules: row.rules.try_into()?,
        })
    });
    attempts.collect()
}

row! {
    struct OpenRow {
        id: Uuid,
        ..rules: RulesRow
    }
}
