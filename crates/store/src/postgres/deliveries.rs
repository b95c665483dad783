//! The first layer: one row for each delivery, decided by `delivery_key`.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Backlog, DeliveryId, DeliveryLog, NewDelivery, Recorded, StoreError};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::Postgres;
use super::moment::timestamp;
use super::pool::Pool;
use crate::batch::{Batch, Candidate, Holder};
use crate::fault::Fault;
use crate::stored::{content_digest, count, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl DeliveryLog for Postgres {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        let (pool, secrets) = (self.pool.clone(), self.secrets.clone());
        // Sealing needs no connection, so none is held meanwhile.
        let work = async move { record(pool, Batch::new(batch, &secrets)?).await };
        self.work.run(SHORT, work).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        let work = due(self.pool.clone(), limit);
        self.work.run(SHORT, work).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        patience: Duration,
    ) -> Result<(), StoreError> {
        let work = mark_notified(self.pool.clone(), deliveries.to_vec(), patience);
        self.work.run(SHORT, work).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.work.run(SHORT, backlog(self.pool.clone())).await
    }
}

/// Each statement is a commit of its own; a single one is the usual case.
async fn record(pool: Pool, batch: Batch) -> Result<Vec<Recorded>, Fault> {
    settle(&mut *pool.lend().await?, batch).await
}

/// Inserts what is new and looks up what is not, until everybody has an answer.
///
/// A loser of the insert is looked up in a statement of its own: the snapshot of
/// the insert does not show the row that it has just waited for. A holder that
/// has gone by then, or a conflict key to take, makes another round.
pub(super) async fn settle(
    connection: &mut PgConnection,
    mut batch: Batch,
) -> Result<Vec<Recorded>, Fault> {
    const ROUNDS: usize = 5;
    for _ in 0..ROUNDS {
        if batch.is_settled() {
            break;
        }
        let candidates = batch.take_open();
        let inserted = match candidates.as_slice() {
            [only] => insert_one(connection, &batch, only).await?,
            several => insert_several(connection, &batch, several).await?,
        };
        let (mut losers, mut keys) = (Vec::new(), Vec::new());
        for candidate in candidates {
            if inserted.contains(&batch.delivery(&candidate)?.id.as_uuid()) {
                batch.inserted(candidate)?;
            } else {
                keys.push(candidate.key.as_bytes().to_vec());
                losers.push(candidate);
            }
        }
        if losers.is_empty() {
            continue;
        }
        let holders = holders(connection, keys).await?;
        for loser in losers {
            let holder = holders.get(loser.key.as_bytes().as_slice()).copied();
            batch.lost(loser, holder)?;
        }
    }
    batch.into_answers()
}

async fn insert_one(
    connection: &mut PgConnection,
    batch: &Batch,
    candidate: &Candidate,
) -> Result<HashSet<Uuid>, Fault> {
    let delivery = batch.delivery(candidate)?;
    let written = sqlx::query(
        "INSERT INTO deliveries
             (id, source, delivery_key, content_digest, content_type, conflict_of, body, body_key)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (delivery_key) DO NOTHING",
    )
    .bind(delivery.id.as_uuid())
    .bind(delivery.source.as_str())
    .bind(candidate.key.as_bytes().as_slice())
    .bind(delivery.content.as_bytes().as_slice())
    .bind(&delivery.content_type)
    .bind(candidate.conflict_of.map(|id| id.as_uuid()))
    .bind(&delivery.body)
    .bind(batch.body_key.as_str())
    .execute(connection)
    .await?;
    let is_new = written.rows_affected() == 1;
    Ok(is_new.then(|| delivery.id.as_uuid()).into_iter().collect())
}

async fn insert_several(
    connection: &mut PgConnection,
    batch: &Batch,
    candidates: &[Candidate],
) -> Result<HashSet<Uuid>, Fault> {
    let mut columns = Columns::default();
    for candidate in candidates {
        columns.push(candidate, batch.delivery(candidate)?);
    }
    let inserted: Vec<Uuid> = sqlx::query_scalar(
        "INSERT INTO deliveries
             (id, source, delivery_key, content_digest, content_type, conflict_of, body, body_key)
         SELECT *, $8 FROM UNNEST
             ($1::uuid[], $2::text[], $3::bytea[], $4::bytea[], $5::text[], $6::uuid[], $7::bytea[])
         ON CONFLICT (delivery_key) DO NOTHING
         RETURNING id",
    )
    .bind(columns.ids)
    .bind(columns.sources)
    .bind(columns.keys)
    .bind(columns.digests)
    .bind(columns.content_types)
    .bind(columns.conflicts)
    .bind(columns.bodies)
    .bind(batch.body_key.as_str())
    .fetch_all(connection)
    .await?;
    Ok(inserted.into_iter().collect())
}

/// The rows of a batch, turned on their side.
#[derive(Default)]
struct Columns<'b> {
    ids: Vec<Uuid>,
    sources: Vec<&'b str>,
    keys: Vec<&'b [u8]>,
    digests: Vec<&'b [u8]>,
    content_types: Vec<&'b str>,
    conflicts: Vec<Option<Uuid>>,
    bodies: Vec<&'b [u8]>,
}

impl<'b> Columns<'b> {
    fn push(&mut self, candidate: &'b Candidate, delivery: &'b NewDelivery) {
        self.ids.push(delivery.id.as_uuid());
        self.sources.push(delivery.source.as_str());
        self.keys.push(candidate.key.as_bytes());
        self.digests.push(delivery.content.as_bytes());
        self.content_types.push(&delivery.content_type);
        self.conflicts
            .push(candidate.conflict_of.map(|id| id.as_uuid()));
        self.bodies.push(&delivery.body);
    }
}

async fn holders(
    connection: &mut PgConnection,
    keys: Vec<Vec<u8>>,
) -> Result<HashMap<Vec<u8>, Holder>, Fault> {
    let rows: Vec<(Vec<u8>, Uuid, Vec<u8>)> = sqlx::query_as(
        "SELECT delivery_key, id, content_digest FROM deliveries WHERE delivery_key = ANY($1)",
    )
    .bind(keys)
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|(key, id, digest)| {
            let holder = Holder {
                id: DeliveryId::from_uuid(id),
                content: content_digest(&digest)?,
            };
            Ok((key, holder))
        })
        .collect()
}

async fn due(pool: Pool, limit: u32) -> Result<Vec<DeliveryId>, Fault> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT id FROM deliveries
         WHERE state IN ('pending', 'claimed') AND ring_at <= now()
         ORDER BY ring_at, id
         LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    Ok(ids.into_iter().map(DeliveryId::from_uuid).collect())
}

async fn mark_notified(
    pool: Pool,
    deliveries: Vec<DeliveryId>,
    patience: Duration,
) -> Result<(), Fault> {
    let ids: Vec<Uuid> = deliveries.iter().map(DeliveryId::as_uuid).collect();
    // Two sweepers may note the same rows; taking the locks in order of id keeps
    // them from a deadlock.
    sqlx::query(
        "UPDATE deliveries
         SET ring_at = greatest(ring_at, now() + $2 * interval '1 millisecond')
         WHERE id IN (SELECT id FROM deliveries
                      WHERE id = ANY($1) AND state IN ('pending', 'claimed')
                      ORDER BY id FOR UPDATE)
           AND state IN ('pending', 'claimed')",
    )
    .bind(ids)
    .bind(millis(patience))
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(())
}

async fn backlog(pool: Pool) -> Result<Backlog, Fault> {
    let row: (OffsetDateTime, i64, i64, i64, i64) = sqlx::query_as(
        "SELECT now(),
                count(*),
                coalesce((extract(epoch FROM now() - min(recorded_at)) * 1000)::bigint, 0),
                greatest((extract(epoch FROM now() - min(claimable_at)) * 1000)::bigint, 0),
                (SELECT count(*) FROM deliveries WHERE state = 'buried')
         FROM deliveries
         WHERE state IN ('pending', 'claimed')",
    )
    .fetch_one(&mut *pool.lend().await?)
    .await?;
    let (at, unfinished, oldest, overdue, dead_letters) = row;
    Ok(Backlog {
        at: timestamp(at),
        unfinished: count(unfinished),
        oldest: span(oldest),
        overdue: span(overdue),
        dead_letters: count(dead_letters),
    })
}
