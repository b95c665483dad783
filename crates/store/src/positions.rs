//! The positions of items in their inbox (`Seq`). A position is taken under the lock of
//! the inbox's row, and only for a row that was inserted. So when a reader has seen
//! position 7, no item appears at position 6 later.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{List, Rows};
use crate::fault::Fault;

/// Locks the rows of inboxes until the transaction ends, inserting those that are not
/// there. Returns the last position that is taken in each.
///
/// All are inserted and then locked in the order of their bytes. Transactions that do
/// both in this order wait for one another and cannot deadlock.
pub(crate) async fn lock<B: Backend>(
    connection: &mut Connection<B>,
    inboxes: BTreeSet<&str>,
) -> Result<BTreeMap<String, i64>, Fault> {
    let inboxes: Vec<String> = inboxes.into_iter().map(str::to_owned).collect();
    let expected = inboxes.len();
    query::<B>(Sql {
        postgres: "INSERT INTO inboxes (inbox, is_passing, created_at)
             SELECT name, true, clock_timestamp() FROM unnest($1) AS name
             WHERE name NOT IN (SELECT inbox FROM inboxes WHERE inbox = ANY($1))
             ORDER BY name COLLATE \"C\"
             ON CONFLICT (inbox) DO NOTHING",
        sqlite: "INSERT INTO inboxes (inbox, is_passing, created_at)
             SELECT value, true, (SELECT now FROM clock) FROM json_each($1) WHERE true
             ON CONFLICT (inbox) DO NOTHING",
    })
    .bind(List(inboxes.clone()))
    .execute(connection)
    .await?;
    let rows: Vec<(String, i64)> = query::<B>(Sql {
        postgres: "SELECT inbox, last_seq FROM inboxes WHERE inbox = ANY($1)
             ORDER BY inbox COLLATE \"C\" FOR UPDATE",
        // The transaction has the lock of the one writer already.
        sqlite: "SELECT inbox, last_seq FROM inboxes
             WHERE inbox IN (SELECT value FROM json_each($1))",
    })
    .bind(List(inboxes))
    .fetch_all(connection)
    .await?;
    if rows.len() < expected {
        // The retention task deleted an empty one in between.
        return Err(Fault::Conflict);
    }
    Ok(rows.into_iter().collect())
}

/// Stores the last position that is taken in each inbox, and notifies the watchers of
/// these inboxes in all processes when the transaction commits.
pub(crate) async fn advance<B: Backend>(
    connection: &mut Connection<B>,
    last: &BTreeMap<&str, i64>,
) -> Result<(), Fault> {
    if last.is_empty() {
        return Ok(());
    }
    let (mut inboxes, mut rows) = (Vec::with_capacity(last.len()), Rows::default());
    for (inbox, seq) in last {
        inboxes.push((*inbox).to_owned());
        rows.push(json!({ "inbox": inbox, "seq": seq }));
    }
    query::<B>(Sql {
        postgres: "UPDATE inboxes SET last_seq = taken.seq
             FROM jsonb_to_recordset($1::text::jsonb) AS taken(inbox text, seq bigint)
             WHERE inboxes.inbox = taken.inbox AND inboxes.inbox = ANY($2)
             RETURNING pg_notify('maillatch_arrivals', inboxes.inbox)",
        sqlite: "UPDATE inboxes SET last_seq = taken.seq
             FROM (SELECT value ->> 'inbox' AS inbox, value ->> 'seq' AS seq
                   FROM json_each($1)) AS taken
             WHERE inboxes.inbox = taken.inbox",
    })
    .bind(rows.into_text())
    .bind(List(inboxes))
    .execute(connection)
    .await?;
    Ok(())
}
