//! Consumes and attempts, with what belongs to them.

use pipeline::RetentionPeriods;

use super::Overdue;
use crate::backend::{Backend, Sql, query};
use crate::database::Session;
use crate::stored::millis;

/// Consumes whose artifacts are gone, and the callbacks about them. An artifact that is
/// still there keeps its consume, or it could be consumed again.
pub(super) async fn purge_consumes<B: Backend>(
    session: Session<B>,
    keep: &RetentionPeriods,
    limit: i64,
) -> Overdue {
    let mut connection = session.writer().await?;
    query::<B>(Sql {
        postgres: "DELETE FROM callbacks
                   WHERE id IN (SELECT id FROM callbacks
                                WHERE state <> 'pending'
                                  AND finished_at <= now() - $1 * interval '1 millisecond'
                                ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        sqlite: "DELETE FROM callbacks
                 WHERE id IN (SELECT id FROM callbacks
                              WHERE state <> 'pending'
                                AND finished_at <= (SELECT now FROM clock) - $1
                              ORDER BY finished_at LIMIT $2)",
    })
    .bind(millis(keep.consumes))
    .bind(limit)
    .execute(&mut connection)
    .await?;
    query::<B>(Sql {
        postgres: "DELETE FROM consumes
                   WHERE artifact_id IN (
                       SELECT artifact_id FROM consumes c
                       WHERE consumed_at <= now() - $1 * interval '1 millisecond'
                         AND NOT (SELECT EXISTS (SELECT 1 FROM artifacts
                                                 WHERE id = c.artifact_id))
                       ORDER BY consumed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
                   RETURNING (extract(epoch FROM now() - consumed_at) * 1000)::bigint - $1",
        sqlite: "DELETE FROM consumes
                 WHERE artifact_id IN (
                     SELECT artifact_id FROM consumes c
                     WHERE consumed_at <= (SELECT now FROM clock) - $1
                       AND NOT EXISTS (SELECT 1 FROM artifacts WHERE id = c.artifact_id)
                     ORDER BY consumed_at LIMIT $2)
                 RETURNING (SELECT now FROM clock) - consumed_at - $1",
    })
    .bind(millis(keep.consumes))
    .bind(limit)
    .scalars(&mut connection)
    .await
}

/// Attempts, after the resends that they were granted. An item or a callback that is
/// left of an attempt keeps it.
pub(super) async fn purge_attempts<B: Backend>(
    session: Session<B>,
    keep: &RetentionPeriods,
    limit: i64,
) -> Overdue {
    let mut connection = session.writer().await?;
    query::<B>(Sql {
        postgres: "DELETE FROM resends
                   WHERE attempt_id IN (
                       SELECT id FROM attempts t
                       WHERE deadline <= now() - $1 * interval '1 millisecond'
                         AND NOT (SELECT EXISTS (SELECT 1 FROM artifacts
                                                 WHERE attempt_id = t.id))
                         AND NOT (SELECT EXISTS (SELECT 1 FROM callbacks
                                                 WHERE attempt_id = t.id))
                       ORDER BY deadline LIMIT $2)",
        sqlite: "DELETE FROM resends
                 WHERE attempt_id IN (
                     SELECT id FROM attempts t
                     WHERE deadline <= (SELECT now FROM clock) - $1
                       AND NOT EXISTS (SELECT 1 FROM artifacts WHERE attempt_id = t.id)
                       AND NOT EXISTS (SELECT 1 FROM callbacks WHERE attempt_id = t.id)
                     ORDER BY deadline LIMIT $2)",
    })
    .bind(millis(keep.items))
    .bind(limit)
    .execute(&mut connection)
    .await?;
    query::<B>(Sql {
        postgres: "DELETE FROM attempts
                   WHERE id IN (
                       SELECT id FROM attempts t
                       WHERE deadline <= now() - $1 * interval '1 millisecond'
                         AND NOT (SELECT EXISTS (SELECT 1 FROM artifacts
                                                 WHERE attempt_id = t.id))
                         AND NOT (SELECT EXISTS (SELECT 1 FROM callbacks
                                                 WHERE attempt_id = t.id))
                         AND NOT (SELECT EXISTS (SELECT 1 FROM resends WHERE attempt_id = t.id))
                       ORDER BY deadline LIMIT $2 FOR UPDATE SKIP LOCKED)
                   RETURNING (extract(epoch FROM now() - deadline) * 1000)::bigint - $1",
        sqlite: "DELETE FROM attempts
                 WHERE id IN (
                     SELECT id FROM attempts t
                     WHERE deadline <= (SELECT now FROM clock) - $1
                       AND NOT EXISTS (SELECT 1 FROM artifacts WHERE attempt_id = t.id)
                       AND NOT EXISTS (SELECT 1 FROM callbacks WHERE attempt_id = t.id)
                       AND NOT EXISTS (SELECT 1 FROM resends WHERE attempt_id = t.id)
                     ORDER BY deadline LIMIT $2)
                 RETURNING (SELECT now FROM clock) - deadline - $1",
    })
    .bind(millis(keep.items))
    .bind(limit)
    .scalars(&mut connection)
    .await
}
