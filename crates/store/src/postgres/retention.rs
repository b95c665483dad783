//! What goes when its time is over. Several processes may clear away at once:
//! each takes what no other has taken.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pipeline::{Discarded, RetentionKind, RetentionLog, RetentionPeriods, StoreError};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::Postgres;
use super::pool::Pool;
use crate::database::Database;
use crate::fault::Fault;
use crate::stored::{discarded, millis};
use crate::uncancelled::LONG;

#[async_trait]
impl RetentionLog for Database<Postgres> {
    async fn discard(
        &self,
        what: RetentionKind,
        keep: &RetentionPeriods,
        limit: u32,
    ) -> Result<Discarded, StoreError> {
        let (pool, keep, limit) = (
            self.session.backend.pool.clone(),
            keep.clone(),
            i64::from(limit),
        );
        let work = async move {
            let late = match what {
                RetentionKind::Values => wipe_values(pool, &keep, limit).await?,
                RetentionKind::Bodies => wipe_bodies(pool, &keep, limit).await?,
                RetentionKind::Items => purge_items(pool, &keep, limit).await?,
                RetentionKind::Messages => purge_messages(pool, &keep, limit).await?,
                RetentionKind::Deliveries => purge_deliveries(pool, &keep, limit).await?,
                RetentionKind::Consumes => purge_consumes(pool, &keep, limit).await?,
                RetentionKind::Requests => purge_requests(pool, &keep, limit).await?,
                RetentionKind::Attempts => purge_attempts(pool, &keep, limit).await?,
                RetentionKind::Inboxes => purge_inboxes(pool, &keep, limit).await?,
            };
            Ok(discarded(&late))
        };
        self.work.run(LONG, work).await
    }
}

/// Each by how many milliseconds it was late.
type Late = Result<Vec<i64>, Fault>;

/// A consumed value goes when it is told nobody again, any other when it has expired.
/// One that a callback has still to be told stays, and one whose callback was given up
/// until it expires, for the operator may have it told again.
async fn wipe_values(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "WITH due AS (
             SELECT a.id, moment.due_at
             FROM artifacts a
             LEFT JOIN consumes c ON c.artifact_id = a.id
             LEFT JOIN callbacks b ON b.artifact_id = a.id
             CROSS JOIN LATERAL (
                 SELECT CASE WHEN c.consumed_at IS NULL OR b.state = 'dead'
                             THEN a.expires_at + $2 * interval '1 millisecond'
                             ELSE c.consumed_at + $1 * interval '1 millisecond' END AS due_at
             ) moment
             WHERE a.value IS NOT NULL AND b.state IS DISTINCT FROM 'pending'
               AND moment.due_at <= now()
             LIMIT $3 FOR UPDATE OF a SKIP LOCKED)
         UPDATE artifacts SET value = NULL, value_key = NULL, wiped_at = now()
         FROM due
         WHERE artifacts.id = due.id AND value IS NOT NULL
         RETURNING (extract(epoch FROM now() - due_at) * 1000)::bigint",
    )
    .bind(millis(keep.consumed_values))
    .bind(millis(keep.expired_values))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

async fn wipe_bodies(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "WITH due AS (
             SELECT id, finished_at + CASE state WHEN 'buried' THEN $2 ELSE $1 END
                                      * interval '1 millisecond' AS due_at
             FROM deliveries
             WHERE body IS NOT NULL AND state IN ('done', 'buried')
               -- The index knows this bound, and no other.
               AND finished_at <= now() - least($1, $2) * interval '1 millisecond'
               AND finished_at + CASE state WHEN 'buried' THEN $2 ELSE $1 END
                                 * interval '1 millisecond' <= now()
             LIMIT $3 FOR UPDATE SKIP LOCKED)
         UPDATE deliveries SET body = NULL, body_key = NULL
         FROM due
         WHERE deliveries.id = due.id AND state IN ('done', 'buried') AND body IS NOT NULL
         RETURNING (extract(epoch FROM now() - due_at) * 1000)::bigint",
    )
    .bind(millis(keep.done_bodies))
    .bind(millis(keep.dead_letter_bodies))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

/// The items of messages, and in the same transaction the place up to which an
/// inbox's feed has gaps. Of a message the keys stay. The inboxes are locked first, and in order, as
/// whoever inserts items does.
async fn purge_items(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let due = due_messages(&mut transaction, keep, limit).await?;
    let ids: Vec<Uuid> = due.iter().map(|(id, ..)| *id).collect();
    let inboxes: Vec<&str> = due.iter().map(|(_, inbox, _)| inbox.as_str()).collect();
    sqlx::query("SELECT FROM inboxes WHERE inbox = ANY($1) ORDER BY inbox FOR UPDATE")
        .bind(&inboxes)
        .execute(&mut *transaction)
        .await?;
    let gone: Vec<(String, i64)> =
        sqlx::query_as("DELETE FROM artifacts WHERE message_id = ANY($1) RETURNING inbox, seq")
            .bind(&ids)
            .fetch_all(&mut *transaction)
            .await?;
    let mut purged: BTreeMap<&str, i64> = BTreeMap::new();
    for (inbox, seq) in &gone {
        let last = purged.entry(inbox).or_default();
        *last = (*last).max(*seq);
    }
    for (inbox, seq) in purged {
        sqlx::query("UPDATE inboxes SET purged_seq = greatest(purged_seq, $2) WHERE inbox = $1")
            .bind(inbox)
            .bind(seq)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query(
        "UPDATE messages
         SET purged_at = now(), sender = NULL, sender_domain = NULL, flags = ''
         WHERE id = ANY($1)",
    )
    .bind(&ids)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(due.into_iter().map(|(.., late)| late).collect())
}

/// Those of inboxes that leave it to the operator, and those of the others; but not
/// what an open attempt has, for the same value again is then still the same.
async fn due_messages(
    connection: &mut PgConnection,
    keep: &RetentionPeriods,
    limit: i64,
) -> Result<Vec<(Uuid, String, i64)>, Fault> {
    let due = sqlx::query_as(
        "(SELECT m.id, m.inbox,
                 (extract(epoch FROM now() - m.received_at) * 1000)::bigint - $1
          FROM messages m JOIN inboxes i ON i.inbox = m.inbox
          WHERE i.retention_ms IS NULL AND m.purged_at IS NULL
            AND m.received_at <= now() - $1 * interval '1 millisecond'
            AND NOT EXISTS (SELECT FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                            WHERE a.message_id = m.id
                              AND t.outcome IS NULL AND t.deadline > now())
          ORDER BY m.received_at LIMIT $2)
         UNION ALL
         (SELECT m.id, m.inbox,
                 (extract(epoch FROM now() - m.received_at) * 1000)::bigint - i.retention_ms
          FROM inboxes i JOIN messages m ON m.inbox = i.inbox
          WHERE i.retention_ms IS NOT NULL AND m.purged_at IS NULL
            AND m.received_at <= now() - i.retention_ms * interval '1 millisecond'
            AND NOT EXISTS (SELECT FROM artifacts a JOIN attempts t ON t.id = a.attempt_id
                            WHERE a.message_id = m.id
                              AND t.outcome IS NULL AND t.deadline > now())
          LIMIT $2)",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(connection)
    .await?;
    Ok(due)
}

async fn purge_messages(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM messages
         WHERE id IN (SELECT id FROM messages
                      WHERE purged_at IS NOT NULL
                        AND received_at <= now() - $1 * interval '1 millisecond'
                      ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING (extract(epoch FROM now() - received_at) * 1000)::bigint - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

async fn purge_deliveries(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM deliveries
         WHERE id IN (SELECT id FROM deliveries d
                      WHERE body IS NULL AND state IN ('done', 'buried')
                        AND finished_at <= now() - $1 * interval '1 millisecond'
                        AND NOT EXISTS (SELECT FROM messages WHERE delivery_id = d.id)
                      ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING (extract(epoch FROM now() - finished_at) * 1000)::bigint - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

/// Consumes whose artifacts are gone, and what was told of them. An artifact that is
/// still there keeps its consume, or it could be used again.
async fn purge_consumes(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let mut connection = pool.lend().await?;
    sqlx::query(
        "DELETE FROM callbacks
         WHERE id IN (SELECT id FROM callbacks
                      WHERE state <> 'pending'
                        AND finished_at <= now() - $1 * interval '1 millisecond'
                      ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(millis(keep.consumes))
    .bind(limit)
    .execute(&mut *connection)
    .await?;
    let late = sqlx::query_scalar(
        "DELETE FROM consumes
         WHERE artifact_id IN (
             SELECT artifact_id FROM consumes c
             WHERE consumed_at <= now() - $1 * interval '1 millisecond'
               AND NOT EXISTS (SELECT FROM artifacts WHERE id = c.artifact_id)
             ORDER BY consumed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING (extract(epoch FROM now() - consumed_at) * 1000)::bigint - $1",
    )
    .bind(millis(keep.consumes))
    .bind(limit)
    .fetch_all(&mut *connection)
    .await?;
    Ok(late)
}

/// Requests that nobody repeats any more.
async fn purge_requests(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM requests
         WHERE (consumer, route, idempotency_key) IN (
             SELECT consumer, route, idempotency_key FROM requests
             WHERE created_at <= now() - $1 * interval '1 millisecond'
             ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

/// Attempts with the resends they were granted. What is left of one, an item or a
/// callback that was told, keeps it.
async fn purge_attempts(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "WITH due AS (
             SELECT id FROM attempts t
             WHERE deadline <= now() - $1 * interval '1 millisecond'
               AND NOT EXISTS (SELECT FROM artifacts WHERE attempt_id = t.id)
               AND NOT EXISTS (SELECT FROM callbacks WHERE attempt_id = t.id)
             ORDER BY deadline LIMIT $2 FOR UPDATE SKIP LOCKED),
         granted AS (
             DELETE FROM resends USING due WHERE resends.attempt_id = due.id)
         DELETE FROM attempts USING due WHERE attempts.id = due.id
         RETURNING (extract(epoch FROM now() - deadline) * 1000)::bigint - $1",
    )
    .bind(millis(keep.items))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}

/// Inboxes that a first mail or an attempt made, when all that was there is gone. Who
/// brings something meanwhile holds the row, and then it stays.
async fn purge_inboxes(pool: Pool, keep: &RetentionPeriods, limit: i64) -> Late {
    let late = sqlx::query_scalar(
        "DELETE FROM inboxes
         WHERE inbox IN (SELECT inbox FROM inboxes i
                         WHERE is_passing
                           AND created_at <= now() - $1 * interval '1 millisecond'
                           AND NOT EXISTS (SELECT FROM messages m WHERE m.inbox = i.inbox)
                           AND NOT EXISTS (SELECT FROM attempts t WHERE t.inbox = i.inbox)
                         ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    )
    .bind(millis(keep.known))
    .bind(limit)
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(late)
}
