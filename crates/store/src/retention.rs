//! Deleting data whose retention time is over. Several processes may do so at once:
//! in Postgres each takes the rows that no other has locked.
//!
//! These statements compare with `now()`, the time at which their transaction began:
//! they skip locked rows instead of waiting, so it is not out of date, and unlike
//! `clock_timestamp()` it lets an index find the rows.
//!
//! Postgres turns `NOT EXISTS (…)` into a join. With the join it read a million due messages
//! before it returned the first one, which took 100 s. It does not turn a scalar subquery into a
//! join, so these conditions are written `NOT (SELECT EXISTS (…))`.
//!
//! In `SQLite` freed bytes are overwritten in the file (`secure_delete` among the
//! connection's options), and the log that still holds them is truncated after a wipe.

mod consumes;
mod items;
mod quota;
mod sends;

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    Discarded, Freed, RetentionKind, RetentionLog, RetentionPeriods, SourceName, StoreError,
};

use crate::backend::{Backend, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{millis, span};
use crate::uncancelled::LONG;

#[async_trait]
impl<B: Backend> RetentionLog for Database<B> {
    async fn discard(
        &self,
        what: RetentionKind,
        keep: &RetentionPeriods,
        limit: u32,
    ) -> Result<Discarded, StoreError> {
        let keep = keep.clone();
        self.run(LONG, move |session| discard(session, what, keep, limit))
            .await
    }

    async fn unfinished_bytes(&self) -> Result<Vec<(SourceName, u64)>, StoreError> {
        self.run(LONG, quota::unfinished).await
    }

    async fn finished_bytes(&self) -> Result<u64, StoreError> {
        self.run(LONG, quota::finished).await
    }

    async fn free_bodies(&self, bytes: u64, limit: u32) -> Result<Freed, StoreError> {
        self.run(LONG, move |session| quota::free(session, bytes, limit))
            .await
    }
}

async fn discard<B: Backend>(
    session: Session<B>,
    what: RetentionKind,
    keep: RetentionPeriods,
    limit: u32,
) -> Result<Discarded, Fault> {
    let limit = i64::from(limit);
    let overdue = match what {
        RetentionKind::Items => items::purge(session, &keep, limit).await?,
        RetentionKind::Consumes => consumes::purge_consumes(session, &keep, limit).await?,
        RetentionKind::Attempts => consumes::purge_attempts(session, &keep, limit).await?,
        RetentionKind::Values => {
            let after = (keep.consumed_values, keep.expired_values);
            wipe(session, VALUES, after, limit).await?
        }
        RetentionKind::Bodies => {
            let after = (keep.done_bodies, keep.dead_letter_bodies);
            wipe(session, BODIES, after, limit).await?
        }
        RetentionKind::Messages => purge(session, MESSAGES, keep.known, limit).await?,
        RetentionKind::Deliveries => purge(session, DELIVERIES, keep.known, limit).await?,
        RetentionKind::Requests => {
            let mut overdue = purge(session.clone(), REQUESTS, keep.items, limit).await?;
            for of_sends in [sends::REQUESTS, sends::GUARD_REQUESTS] {
                overdue.extend(purge(session.clone(), of_sends, keep.items, limit).await?);
            }
            overdue
        }
        RetentionKind::Inboxes => purge(session, INBOXES, keep.known, limit).await?,
        RetentionKind::SendContents => {
            let after = (keep.send_contents, keep.send_contents);
            wipe(session, sends::CONTENTS, after, limit).await?
        }
        RetentionKind::SendEvents => {
            let counts = purge(session.clone(), sends::COUNTS, Duration::ZERO, limit);
            counts.await?;
            purge(session, sends::EVENTS, keep.send_events, limit).await?
        }
        RetentionKind::Intents => {
            let threads = purge(session.clone(), sends::THREADS, keep.intents, limit);
            threads.await?;
            purge(session, sends::INTENTS, keep.intents, limit).await?
        }
    };
    Ok(Discarded {
        count: overdue.len() as u64,
        late: overdue.into_iter().max().map_or(Duration::ZERO, span),
    })
}

/// By how many milliseconds each row was overdue.
type Overdue = Result<Vec<i64>, Fault>;

/// Wipes a column and then the log that still holds its bytes.
async fn wipe<B: Backend>(
    session: Session<B>,
    sql: Sql,
    after: (Duration, Duration),
    limit: i64,
) -> Overdue {
    let mut connection = session.writer().await?;
    let overdue: Vec<i64> = query::<B>(sql)
        .bind(millis(after.0))
        .bind(millis(after.1))
        .bind(limit)
        .scalars(&mut connection)
        .await?;
    if !overdue.is_empty() {
        B::truncate_log(&mut connection).await?;
    }
    Ok(overdue)
}

/// A consumed value is wiped when the retry of its consume no longer gets it, any other
/// when it has expired. A value that a callback has still to deliver stays. One whose
/// callback was given up stays until it expires: the operator may retry the callback.
const VALUES: Sql = Sql {
    postgres: "WITH due AS (
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
    sqlite: "UPDATE artifacts
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
};

/// Anybody can send mail to inboxes that do not exist. So the bodies of such mail are kept
/// only as long as those of processed mail, although it is dead-lettered. The condition on
/// the shorter of the two times is there for the index.
const BODIES: Sql = Sql {
    postgres: "WITH due AS (
                   SELECT id, finished_at + CASE WHEN state = 'buried' AND reason NOT IN
                           ('inbox_unknown', 'not_the_sources_domain') THEN $2 ELSE $1 END
                                            * interval '1 millisecond' AS due_at
                   FROM deliveries
                   WHERE body IS NOT NULL AND state IN ('done', 'buried')
                     AND finished_at <= now() - least($1, $2) * interval '1 millisecond'
                     AND finished_at + CASE WHEN state = 'buried' AND reason NOT IN
                           ('inbox_unknown', 'not_the_sources_domain') THEN $2 ELSE $1 END
                                       * interval '1 millisecond' <= now()
                   LIMIT $3 FOR UPDATE SKIP LOCKED)
               UPDATE deliveries SET body = NULL, body_key = NULL
               FROM due
               WHERE deliveries.id = due.id AND state IN ('done', 'buried') AND body IS NOT NULL
               RETURNING (extract(epoch FROM now() - due_at) * 1000)::bigint",
    sqlite: "UPDATE deliveries SET body = NULL, body_key = NULL
             WHERE id IN (
                 SELECT id FROM deliveries
                 WHERE body IS NOT NULL AND state IN ('done', 'buried')
                   AND finished_at <= (SELECT now FROM clock) - min($1, $2)
                   AND finished_at + CASE WHEN state = 'buried' AND reason NOT IN
                           ('inbox_unknown', 'not_the_sources_domain') THEN $2 ELSE $1 END
                       <= (SELECT now FROM clock)
                 LIMIT $3)
             RETURNING (SELECT now FROM clock)
                 - (finished_at + CASE WHEN state = 'buried' AND reason NOT IN
                           ('inbox_unknown', 'not_the_sources_domain') THEN $2 ELSE $1 END)",
};

/// Deletes the rows of one statement.
async fn purge<B: Backend>(session: Session<B>, sql: Sql, after: Duration, limit: i64) -> Overdue {
    query::<B>(sql)
        .bind(millis(after))
        .bind(limit)
        .scalars(&mut *session.writer().await?)
        .await
}

const MESSAGES: Sql = Sql {
    postgres: "DELETE FROM messages
               WHERE id IN (SELECT id FROM messages
                            WHERE purged_at IS NOT NULL
                              AND received_at <= now() - $1 * interval '1 millisecond'
                            ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - received_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM messages
             WHERE id IN (SELECT id FROM messages
                          WHERE purged_at IS NOT NULL
                            AND received_at <= (SELECT now FROM clock) - $1
                          ORDER BY received_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - received_at - $1",
};

const DELIVERIES: Sql = Sql {
    postgres: "DELETE FROM deliveries
               WHERE id IN (SELECT id FROM deliveries d
                            WHERE body IS NULL AND state IN ('done', 'buried')
                              AND finished_at <= now() - $1 * interval '1 millisecond'
                              AND NOT (SELECT EXISTS (SELECT 1 FROM messages
                                                      WHERE delivery_id = d.id))
                            ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - finished_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM deliveries
             WHERE id IN (SELECT id FROM deliveries d
                          WHERE body IS NULL AND state IN ('done', 'buried')
                            AND finished_at <= (SELECT now FROM clock) - $1
                            AND NOT EXISTS (SELECT 1 FROM messages WHERE delivery_id = d.id)
                          ORDER BY finished_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - finished_at - $1",
};

/// Requests that no client repeats any more.
const REQUESTS: Sql = Sql {
    postgres: "DELETE FROM requests
               WHERE (consumer, route, idempotency_key) IN (
                   SELECT consumer, route, idempotency_key FROM requests
                   WHERE created_at <= now() - $1 * interval '1 millisecond'
                   ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM requests
             WHERE (consumer, route, idempotency_key) IN (
                 SELECT consumer, route, idempotency_key FROM requests
                 WHERE created_at <= (SELECT now FROM clock) - $1
                 ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};

/// Empty inboxes that a first mail or an attempt inserted. Whoever writes to one
/// meanwhile has its row locked, and then it stays.
const INBOXES: Sql = Sql {
    postgres: "DELETE FROM inboxes
               WHERE inbox IN (SELECT inbox FROM inboxes i
                               WHERE is_passing
                                 AND created_at <= now() - $1 * interval '1 millisecond'
                                 AND NOT (SELECT EXISTS (SELECT 1 FROM messages
                                                         WHERE inbox = i.inbox))
                                 AND NOT (SELECT EXISTS (SELECT 1 FROM attempts
                                                         WHERE inbox = i.inbox))
                               ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
               RETURNING (extract(epoch FROM now() - created_at) * 1000)::bigint - $1",
    sqlite: "DELETE FROM inboxes
             WHERE inbox IN (SELECT inbox FROM inboxes i
                             WHERE is_passing AND created_at <= (SELECT now FROM clock) - $1
                               AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.inbox = i.inbox)
                               AND NOT EXISTS (SELECT 1 FROM attempts t WHERE t.inbox = i.inbox)
                             ORDER BY created_at LIMIT $2)
             RETURNING (SELECT now FROM clock) - created_at - $1",
};
