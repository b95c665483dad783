//! What goes when its time is over. Freed bytes are overwritten in the file (see
//! `secure_delete` among the connection's options), and the log that still holds
//! them is cut off after a wipe.

use async_trait::async_trait;
use pipeline::{Discarded, RetentionKind, RetentionLog, RetentionPeriods, StoreError};
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

use super::Sqlite;
use crate::database::Database;
use crate::fault::Fault;
use crate::stored::{discarded, millis};
use crate::uncancelled::LONG;

#[async_trait]
impl RetentionLog for Database<Sqlite> {
    async fn discard(
        &self,
        what: RetentionKind,
        keep: &RetentionPeriods,
        limit: u32,
    ) -> Result<Discarded, StoreError> {
        let (writer, keep, limit) = (
            self.session.backend.writer.clone(),
            keep.clone(),
            i64::from(limit),
        );
        let work = async move {
            let late = match what {
                RetentionKind::Values => wipe_values(&writer, &keep, limit).await?,
                RetentionKind::Bodies => wipe_bodies(&writer, &keep, limit).await?,
                RetentionKind::Items => purge_items(&writer, &keep, limit).await?,
                RetentionKind::Messages => purge_messages(&writer, &keep, limit).await?,
                RetentionKind::Deliveries => purge_deliveries(&writer, &keep, limit).await?,
                RetentionKind::Consumes => purge_consumes(&writer, &keep, limit).await?,
                RetentionKind::Requests => purge_requests(&writer, &keep, limit).await?,
                RetentionKind::Attempts => purge_attempts(&writer, &keep, limit).await?,
                RetentionKind::Inboxes => purge_inboxes(&writer, &keep, limit).await?,
            };
            if matches!(what, RetentionKind::Values | RetentionKind::Bodies) && !late.is_empty() {
                cut_log(&writer).await?;
            }
            Ok(discarded(&late))
        };
        self.work.run(LONG, work).await
    }
}

/// Each by how many milliseconds it was late.
type Late = Result<Vec<i64>, Fault>;

/// Folds the write-ahead log into the file and empties it. When a reader stands
/// in the way it stays as it is, and the next wipe or checkpoint gets it.
async fn cut_log(writer: &SqlitePool) -> Result<(), Fault> {
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(writer)
        .await?;
    Ok(())
}

/// A consumed value goes when it is told nobody again, any other when it has expired.
/// One that a callback has still to be told stays, and one whose callback was given up
/// until it expires, for the operator may have it told again.
async fn wipe_values(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "UPDATE artifacts
         SET value = NULL, value_key = NULL, wiped_at = (SELECT now FROM clock)
         WHERE id IN (
             SELECT a.id FROM artifacts a
             LEFT JOIN consumes c ON c.artifact_id = a.id
             LEFT JOIN callbacks b ON b.artifact_id = a.id
             WHERE a.value IS NOT NULL AND b.state IS NOT 'pending'
               AND CASE WHEN c.consumed_at IS NULL OR b.state IS 'dead'
                        THEN a.expires_at + $2 ELSE c.consumed_at + $1 END
                   <= (SELECT now FROM clock)
             LIMIT $3)
         RETURNING (SELECT now FROM clock)
             - coalesce((SELECT c.consumed_at + $1 FROM consumes c
                         WHERE c.artifact_id = artifacts.id
                           AND NOT EXISTS (SELECT 1 FROM callbacks b
                                           WHERE b.artifact_id = c.artifact_id
                                             AND b.state = 'dead')),
                        expires_at + $2)",
    )
    .bind(millis(keep.consumed_values))
    .bind(millis(keep.expired_values))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

async fn wipe_bodies(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "UPDATE deliveries SET body = NULL, body_key = NULL
         WHERE id IN (
             SELECT id FROM deliveries
             WHERE body IS NOT NULL AND state IN ('done', 'buried')
               -- The index knows this bound, and no other.
               AND finished_at <= (SELECT now FROM clock) - min($1, $2)
               AND finished_at + CASE state WHEN 'buried' THEN $2 ELSE $1 END
                   <= (SELECT now FROM clock)
             LIMIT $3)
         RETURNING (SELECT now FROM clock)
             - (finished_at + CASE state WHEN 'buried' THEN $2 ELSE $1 END)",
    )
    .bind(millis(keep.done_bodies))
    .bind(millis(keep.dead_letter_bodies))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

/// The items of messages, and in the same transaction the place up to which an
/// inbox's feed has gaps. Of a message the keys stay.
async fn purge_items(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let due = due_messages(&mut transaction, keep, limit).await?;
    for (message, _) in &due {
        sqlx::query(
            "UPDATE inboxes
             SET purged_seq = max(purged_seq, gone.seq)
             FROM (SELECT inbox, max(seq) AS seq FROM artifacts
                   WHERE message_id = $1 GROUP BY inbox) AS gone
             WHERE inboxes.inbox = gone.inbox",
        )
        .bind(message)
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM artifacts WHERE message_id = $1")
            .bind(message)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "UPDATE messages
             SET purged_at = (SELECT now FROM clock), sender = NULL, sender_domain = NULL,
                 flags = ''
             WHERE id = $1",
        )
        .bind(message)
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(due.into_iter().map(|(_, late)| late).collect())
}

/// Those of inboxes that leave it to the operator, and those of the others; but not
/// what an open attempt has, for the same value again is then still the same.
async fn due_messages(
    connection: &mut SqliteConnection,
    keep: &RetentionPeriods,
    limit: i64,
) -> Result<Vec<(Uuid, i64)>, Fault> {
    let due = sqlx::query_as(
        "SELECT * FROM (
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
             FROM inboxes i JOIN messages m ON m.inbox = i.inbox
             WHERE i.retention_ms IS NOT NULL AND m.purged_at IS NULL
               AND m.received_at <= (SELECT now FROM clock) - i.retention_ms
               AND NOT EXISTS (SELECT 1 FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                               WHERE a.message_id = m.id AND t.outcome IS NULL
                                 AND t.deadline > (SELECT now FROM clock))
             LIMIT $2)",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(connection)
    .await?;
    Ok(due)
}

async fn purge_messages(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM messages
         WHERE id IN (SELECT id FROM messages
                      WHERE purged_at IS NOT NULL
                        AND received_at <= (SELECT now FROM clock) - $1
                      ORDER BY received_at LIMIT $2)
         RETURNING (SELECT now FROM clock) - received_at - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

async fn purge_deliveries(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM deliveries
         WHERE id IN (SELECT id FROM deliveries d
                      WHERE body IS NULL AND state IN ('done', 'buried')
                        AND finished_at <= (SELECT now FROM clock) - $1
                        AND NOT EXISTS (SELECT 1 FROM messages WHERE delivery_id = d.id)
                      ORDER BY finished_at LIMIT $2)
         RETURNING (SELECT now FROM clock) - finished_at - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

/// An artifact that is still there keeps its consume, or it could be used again.
async fn purge_consumes(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    sqlx::query(
        "DELETE FROM callbacks
         WHERE id IN (SELECT id FROM callbacks
                      WHERE state <> 'pending' AND finished_at <= (SELECT now FROM clock) - $1
                      ORDER BY finished_at LIMIT $2)",
    )
    .bind(millis(keep.consumes))
    .bind(limit)
    .execute(writer)
    .await?;
    let late = sqlx::query_scalar(
        "DELETE FROM consumes
         WHERE artifact_id IN (
             SELECT artifact_id FROM consumes c
             WHERE consumed_at <= (SELECT now FROM clock) - $1
               AND NOT EXISTS (SELECT 1 FROM artifacts WHERE id = c.artifact_id)
             ORDER BY consumed_at LIMIT $2)
         RETURNING (SELECT now FROM clock) - consumed_at - $1",
    )
    .bind(millis(keep.consumes))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

/// Requests that nobody repeats any more.
async fn purge_requests(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM requests
         WHERE (consumer, route, idempotency_key) IN (
             SELECT consumer, route, idempotency_key FROM requests
             WHERE created_at <= (SELECT now FROM clock) - $1
             ORDER BY created_at LIMIT $2)
         RETURNING (SELECT now FROM clock) - created_at - $1",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}

/// Attempts with the resends they were granted. What is left of one, an item or a
/// callback that was told, keeps it.
async fn purge_attempts(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let due: Vec<(Uuid, i64)> = sqlx::query_as(
        "SELECT id, (SELECT now FROM clock) - deadline - $1 FROM attempts t
         WHERE deadline <= (SELECT now FROM clock) - $1
           AND NOT EXISTS (SELECT 1 FROM artifacts WHERE attempt_id = t.id)
           AND NOT EXISTS (SELECT 1 FROM callbacks WHERE attempt_id = t.id)
         ORDER BY deadline LIMIT $2",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(&mut *transaction)
    .await?;
    for (attempt, _) in &due {
        sqlx::query("DELETE FROM resends WHERE attempt_id = $1")
            .bind(attempt)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("DELETE FROM attempts WHERE id = $1")
            .bind(attempt)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(due.into_iter().map(|(_, late)| late).collect())
}

/// Inboxes that a first mail or an attempt made, when all that was there is gone.
async fn purge_inboxes(writer: &SqlitePool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM inboxes
         WHERE inbox IN (SELECT inbox FROM inboxes i
                         WHERE is_passing AND created_at <= (SELECT now FROM clock) - $1
                           AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.inbox = i.inbox)
                           AND NOT EXISTS (SELECT 1 FROM attempts t WHERE t.inbox = i.inbox)
                         ORDER BY created_at LIMIT $2)
         RETURNING (SELECT now FROM clock) - created_at - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(writer)
    .await?;
    Ok(late)
}
