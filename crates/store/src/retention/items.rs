//! The items of messages.

use pipeline::RetentionPeriods;
use uuid::Uuid;

use super::Overdue;
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::millis;

/// Deletes the items, and stores in the same transaction the position up to which items
/// of the inbox were deleted. The deduplication keys of the messages stay.
pub(super) async fn purge<B: Backend>(
    session: Session<B>,
    keep: &RetentionPeriods,
    limit: i64,
) -> Overdue {
    let mut transaction = session.begin().await?;
    let (messages, overdue) = due_messages::<B>(&mut transaction, keep, limit).await?;
    query::<B>(Sql {
        postgres: "UPDATE inboxes
                   SET purged_seq = greatest(purged_seq, gone.seq)
                   FROM (SELECT inbox, max(seq) AS seq FROM artifacts
                         WHERE message_id = ANY($1) GROUP BY inbox) AS gone
                   WHERE inboxes.inbox = gone.inbox",
        sqlite: "UPDATE inboxes
                 SET purged_seq = max(purged_seq, gone.seq)
                 FROM (SELECT inbox, max(seq) AS seq FROM artifacts
                       WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
                       GROUP BY inbox) AS gone
                 WHERE inboxes.inbox = gone.inbox",
    })
    .bind(messages.clone())
    .execute(&mut transaction)
    .await?;
    query::<B>(Sql {
        postgres: "DELETE FROM artifacts WHERE message_id = ANY($1)",
        sqlite: "DELETE FROM artifacts
                 WHERE message_id IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(messages.clone())
    .execute(&mut transaction)
    .await?;
    query::<B>(Sql {
        postgres: "UPDATE messages
                   SET purged_at = clock_timestamp(), sender = NULL, sender_domain = NULL,
                       flags = ''
                   WHERE id = ANY($1)",
        sqlite: "UPDATE messages
                 SET purged_at = (SELECT now FROM clock), sender = NULL, sender_domain = NULL,
                     flags = ''
                 WHERE id IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(messages.clone())
    .execute(&mut transaction)
    .await?;
    query::<B>(Sql {
        postgres: "UPDATE handlings SET content = NULL, content_key = NULL
                   WHERE message_id = ANY($1) AND content IS NOT NULL",
        sqlite: "UPDATE handlings SET content = NULL, content_key = NULL
                 WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
                   AND content IS NOT NULL",
    })
    .bind(messages)
    .execute(&mut transaction)
    .await?;
    transaction.commit().await?;
    Ok(overdue)
}

/// The messages whose items are due. Their inboxes are locked, in the same order as the insert of
/// items locks them.
async fn due_messages<B: Backend>(
    connection: &mut Connection<B>,
    keep: &RetentionPeriods,
    limit: i64,
) -> Result<(List<Uuid>, Vec<i64>), Fault> {
    let due: Vec<(Uuid, i64)> = query::<B>(DUE)
        .bind(millis(keep.items))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let (messages, overdue) = due.into_iter().unzip();
    Ok((List(messages), overdue))
}

/// The messages whose items are due, by the time of their inbox or else the operator's; but not
/// what an open attempt has, because the same value again must find it.
///
/// The inner `LIMIT` makes Postgres, and the `CROSS JOIN` makes SQLite, begin with the inboxes that
/// have a time of their own, which are few.
const DUE: Sql = Sql {
    postgres: "WITH due AS MATERIALIZED (
         (SELECT m.id, m.inbox,
                 (extract(epoch FROM now() - m.received_at) * 1000)::bigint - $1 AS overdue
          FROM messages m
          WHERE m.purged_at IS NULL
            AND m.received_at <= now() - $1 * interval '1 millisecond'
            AND (SELECT retention_ms IS NULL FROM inboxes i WHERE i.inbox = m.inbox)
            AND NOT (SELECT EXISTS (
                SELECT 1 FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                WHERE a.message_id = m.id AND t.outcome IS NULL AND t.deadline > now()))
          ORDER BY m.received_at LIMIT $2)
         UNION ALL
         (SELECT m.id, i.inbox,
                 (extract(epoch FROM now() - m.received_at) * 1000)::bigint - i.retention_ms
          FROM inboxes i CROSS JOIN LATERAL (
              SELECT id, received_at FROM messages
              WHERE inbox = i.inbox AND purged_at IS NULL
                AND received_at <= now() - i.retention_ms * interval '1 millisecond'
                AND NOT (SELECT EXISTS (
                    SELECT 1 FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                    WHERE a.message_id = messages.id AND t.outcome IS NULL
                      AND t.deadline > now()))
              LIMIT $2) m
          WHERE i.retention_ms IS NOT NULL
          LIMIT $2)
     ), locked AS MATERIALIZED (
         SELECT inbox FROM inboxes WHERE inbox IN (SELECT inbox FROM due)
         ORDER BY inbox COLLATE \"C\" FOR UPDATE
     )
     SELECT id, overdue FROM due WHERE inbox IN (SELECT inbox FROM locked)",
    sqlite: "SELECT * FROM (
         SELECT m.id, (SELECT now FROM clock) - m.received_at - $1
         FROM messages m JOIN inboxes i ON i.inbox = m.inbox
         WHERE i.retention_ms IS NULL AND m.purged_at IS NULL
           AND m.received_at <= (SELECT now FROM clock) - $1
           AND NOT EXISTS (SELECT 1 FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                           WHERE a.message_id = m.id AND t.outcome IS NULL
                             AND t.deadline > (SELECT now FROM clock))
         ORDER BY m.received_at LIMIT $2)
     UNION ALL
     SELECT * FROM (
         SELECT m.id, (SELECT now FROM clock) - m.received_at - i.retention_ms
         FROM inboxes i CROSS JOIN messages m ON m.inbox = i.inbox
         WHERE i.retention_ms IS NOT NULL AND m.purged_at IS NULL
           AND m.received_at <= (SELECT now FROM clock) - i.retention_ms
           AND NOT EXISTS (SELECT 1 FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                           WHERE a.message_id = m.id AND t.outcome IS NULL
                             AND t.deadline > (SELECT now FROM clock))
         LIMIT $2)",
};

#[cfg(test)]
mod tests;
