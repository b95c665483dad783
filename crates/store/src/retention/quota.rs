//! Measuring the stored bodies, and deleting some before their time.

use pipeline::{Freed, SourceName, StorageQuota};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::List;
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::{count, source};

/// Both databases know the length of a body without reading it.
pub(super) async fn unfinished<B: Backend>(
    session: Session<B>,
) -> Result<Vec<(SourceName, u64)>, Fault> {
    let rows: Vec<(String, i64)> = query::<B>(Sql {
        postgres: "SELECT source, sum(octet_length(body) + $1)::bigint FROM deliveries
                   WHERE state IN ('pending', 'claimed')
                   GROUP BY source",
        sqlite: "SELECT source, sum(length(body) + $1) FROM deliveries
                 WHERE state IN ('pending', 'claimed')
                 GROUP BY source",
    })
    .bind(row_bytes())
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter()
        .map(|(name, bytes)| Ok((source(&name)?, count(bytes))))
        .collect()
}

/// There may be millions of these, so they are not sorted by source.
pub(super) async fn finished<B: Backend>(session: Session<B>) -> Result<u64, Fault> {
    let bytes: Option<Option<i64>> = query::<B>(Sql {
        postgres: "SELECT sum(octet_length(body) + $1)::bigint FROM deliveries
                   WHERE body IS NOT NULL AND state IN ('done', 'buried')",
        sqlite: "SELECT sum(length(body) + $1) FROM deliveries
                 WHERE body IS NOT NULL AND state IN ('done', 'buried')",
    })
    .bind(row_bytes())
    .scalar(&mut *session.reader().await?)
    .await?;
    Ok(bytes.flatten().map_or(0, count))
}

fn row_bytes() -> i64 {
    i64::try_from(StorageQuota::ROW).unwrap_or(i64::MAX)
}

/// The rows stay, and detect duplicates. If another process frees bodies at this moment,
/// nothing is freed: it has measured the same bodies, and the oldest are those it has locked.
pub(super) async fn free<B: Backend>(
    session: Session<B>,
    bytes: u64,
    limit: u32,
) -> Result<Freed, Fault> {
    let mut transaction = session.begin().await?;
    let (mut ids, mut freed) = (Vec::new(), Freed::default());
    if !is_alone::<B>(&mut transaction).await? {
        transaction.rollback().await?;
        return Ok(freed);
    }
    let limit = limit as usize;
    for are_dead_letters in [false, true] {
        if freed.bytes >= bytes || ids.len() >= limit {
            break;
        }
        let oldest = oldest::<B>(&mut transaction, are_dead_letters, limit - ids.len()).await?;
        for (id, size) in oldest {
            if freed.bytes >= bytes {
                break;
            }
            ids.push(id);
            freed.count += 1;
            freed.bytes = freed.bytes.saturating_add(count(size));
        }
    }
    if ids.is_empty() {
        transaction.rollback().await?;
        return Ok(freed);
    }
    query::<B>(Sql {
        postgres: "UPDATE deliveries SET body = NULL, body_key = NULL WHERE id = ANY($1)",
        sqlite: "UPDATE deliveries SET body = NULL, body_key = NULL
                 WHERE id IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(List(ids))
    .execute(&mut transaction)
    .await?;
    transaction.commit().await?;
    B::truncate_log(&mut *session.writer().await?).await?;
    Ok(freed)
}

/// Whether no other transaction frees bodies, until this one ends. `SQLite` has one writer.
async fn is_alone<B: Backend>(connection: &mut Connection<B>) -> Result<bool, Fault> {
    let is_alone: Option<bool> = query::<B>(Sql {
        postgres: "SELECT pg_try_advisory_xact_lock(hashtext('maillatch quota'))",
        sqlite: "SELECT true",
    })
    .scalar(connection)
    .await?;
    Ok(is_alone == Some(true))
}

/// The oldest finished deliveries with a body: dead letters, or all others. Mail
/// to an unknown inbox, which anybody can send, is among the others.
async fn oldest<B: Backend>(
    connection: &mut Connection<B>,
    are_dead_letters: bool,
    limit: usize,
) -> Result<Vec<(Uuid, i64)>, Fault> {
    query::<B>(Sql {
        postgres: "SELECT id, octet_length(body) + $3 FROM deliveries
                   WHERE body IS NOT NULL AND state IN ('done', 'buried')
                     AND (state = 'buried' AND reason NOT IN
                           ('inbox_unknown', 'not_the_sources_domain')) = $1
                   ORDER BY finished_at, id LIMIT $2 FOR UPDATE SKIP LOCKED",
        sqlite: "SELECT id, length(body) + $3 FROM deliveries
                 WHERE body IS NOT NULL AND state IN ('done', 'buried')
                   AND (state = 'buried' AND reason NOT IN
                         ('inbox_unknown', 'not_the_sources_domain')) = $1
                 ORDER BY finished_at, id LIMIT $2",
    })
    .bind(are_dead_letters)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .bind(row_bytes())
    .fetch_all(connection)
    .await
}
