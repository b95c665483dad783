//! The first layer of deduplication: one row for each delivery, decided by the unique
//! `delivery_key`.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Backlog, DeliveryId, DeliveryLog, NewDelivery, Recorded, StoreError};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query};
use crate::batch::{Batch, Known, Unrecorded};
use crate::column::{List, Moment};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{content_digest, count, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> DeliveryLog for Database<B> {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        self.run(SHORT, |session| record(session, batch)).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.run(SHORT, |session| due(session, limit)).await
    }

    async fn claimable(&self, ahead: Duration, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        self.run(SHORT, |session| claimable(session, ahead, limit))
            .await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        timeout: Duration,
    ) -> Result<(), StoreError> {
        let ids = deliveries.iter().map(DeliveryId::as_uuid).collect();
        self.run(SHORT, |session| mark_notified(session, ids, timeout))
            .await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.run(SHORT, backlog).await
    }
}

async fn record<B: Backend>(
    session: Session<B>,
    batch: Vec<NewDelivery>,
) -> Result<Vec<Recorded>, Fault> {
    // Sealing needs no connection, so none is held meanwhile.
    let batch = Batch::new(batch, &session.secrets)?;
    if batch.bytes() <= B::MOST_BYTES {
        return settle::<B>(&mut *session.writer().await?, batch).await;
    }
    let mut transaction = session.begin().await?;
    let answers = settle::<B>(&mut transaction, batch).await?;
    transaction.commit().await?;
    Ok(answers)
}

/// Inserts what is new and looks up what is not, until every delivery has an answer.
///
/// A delivery whose key is taken is looked up in a statement of its own: the snapshot
/// of the insert does not show the row that it has just waited for. If that row is gone
/// by then, or a conflict key is to be taken, there is another round.
pub(crate) async fn settle<B: Backend>(
    connection: &mut Connection<B>,
    mut batch: Batch,
) -> Result<Vec<Recorded>, Fault> {
    const ROUNDS: usize = 5;
    for _ in 0..ROUNDS {
        if batch.is_settled() {
            break;
        }
        let unrecorded = batch.take_unrecorded();
        let inserted = B::insert_deliveries(connection, &batch, &unrecorded).await?;
        let (mut taken, mut keys) = (Vec::new(), Vec::new());
        for delivery in unrecorded {
            if inserted.contains(&batch.delivery(&delivery)?.id.as_uuid()) {
                batch.inserted(delivery)?;
            } else {
                keys.push(delivery.key.as_bytes().to_vec());
                taken.push(delivery);
            }
        }
        if taken.is_empty() {
            continue;
        }
        let known = known::<B>(connection, keys).await?;
        for delivery in taken {
            let holder = known.get(delivery.key.as_bytes().as_slice()).copied();
            batch.key_taken(delivery, holder)?;
        }
    }
    batch.into_answers()
}

/// Inserts the row of one delivery; returns its id if it is new. What many deliveries need
/// for one statement would be work for nothing here.
pub(crate) async fn insert_one<B: Backend>(
    connection: &mut Connection<B>,
    batch: &Batch,
    candidate: &Unrecorded,
) -> Result<Vec<Uuid>, Fault> {
    let delivery = batch.delivery(candidate)?;
    let written = query::<B>(Sql {
        postgres: "INSERT INTO deliveries
                 (id, source, delivery_key, content_digest, content_type, conflict_of, body,
                  body_key, recorded_at, claimable_at, ring_at)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, now, now, now + interval '2 seconds'
             FROM clock_timestamp() AS now
             ON CONFLICT (delivery_key) DO NOTHING",
        sqlite: "INSERT INTO deliveries
                 (id, source, delivery_key, content_digest, content_type, conflict_of, body,
                  body_key, recorded_at, claimable_at, ring_at)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, now, now, now + 2000
             FROM clock WHERE true
             ON CONFLICT (delivery_key) DO NOTHING",
    })
    .bind(delivery.id.as_uuid())
    .bind(delivery.source.as_str())
    .bind(candidate.key.as_bytes().as_slice())
    .bind(delivery.content.as_bytes().as_slice())
    .bind(delivery.content_type.as_str())
    .bind(candidate.conflict_of.map(|id| id.as_uuid()))
    .bind(delivery.body.as_slice())
    .bind(batch.body_key.as_str())
    .execute(connection)
    .await?;
    Ok((written == 1)
        .then(|| delivery.id.as_uuid())
        .into_iter()
        .collect())
}

/// The rows that have these keys.
async fn known<B: Backend>(
    connection: &mut Connection<B>,
    keys: Vec<Vec<u8>>,
) -> Result<HashMap<Vec<u8>, Known>, Fault> {
    let rows: Vec<(Vec<u8>, Uuid, Vec<u8>)> = query::<B>(Sql {
        postgres: "SELECT delivery_key, id, content_digest FROM deliveries
             WHERE delivery_key = ANY($1)",
        sqlite: "SELECT delivery_key, id, content_digest FROM deliveries
             WHERE delivery_key IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(List(keys))
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|(key, id, digest)| {
            let known = Known {
                id: DeliveryId::from_uuid(id),
                content: content_digest(&digest)?,
            };
            Ok((key, known))
        })
        .collect()
}

/// This reads without waiting for locks, so it compares with `now()`: an index can
/// look for that, and not for the volatile `clock_timestamp()`.
async fn due<B: Backend>(session: Session<B>, limit: u32) -> Result<Vec<DeliveryId>, Fault> {
    let ids: Vec<Uuid> = query::<B>(Sql {
        postgres: "SELECT id FROM deliveries
             WHERE state IN ('pending', 'claimed') AND ring_at <= now()
             ORDER BY ring_at, id
             LIMIT $1",
        sqlite: "SELECT id FROM deliveries
             WHERE state IN ('pending', 'claimed') AND ring_at <= (SELECT now FROM clock)
             ORDER BY ring_at, id
             LIMIT $1",
    })
    .bind(i64::from(limit))
    .scalars(&mut *session.reader().await?)
    .await?;
    Ok(ids.into_iter().map(DeliveryId::from_uuid).collect())
}

/// The index is searched by `ring_at`; a claimed delivery has its lease in both columns.
async fn claimable<B: Backend>(
    session: Session<B>,
    ahead: Duration,
    limit: u32,
) -> Result<Vec<DeliveryId>, Fault> {
    let ids: Vec<Uuid> = query::<B>(Sql {
        postgres: "SELECT id FROM deliveries
             WHERE state IN ('pending', 'claimed')
               AND ring_at <= now() + $2 * interval '1 millisecond' AND claimable_at <= now()
             ORDER BY ring_at, id
             LIMIT $1",
        sqlite: "SELECT id FROM deliveries
             WHERE state IN ('pending', 'claimed')
               AND ring_at <= (SELECT now FROM clock) + $2
               AND claimable_at <= (SELECT now FROM clock)
             ORDER BY ring_at, id
             LIMIT $1",
    })
    .bind(i64::from(limit))
    .bind(millis(ahead))
    .scalars(&mut *session.reader().await?)
    .await?;
    Ok(ids.into_iter().map(DeliveryId::from_uuid).collect())
}

/// Two sweepers may note the same rows; taking the locks in order of id keeps them
/// from a deadlock. A delivery that is no longer due keeps its due time: a claim, the end of a
/// claim, or another sweeper has set it since it was listed.
async fn mark_notified<B: Backend>(
    session: Session<B>,
    ids: Vec<Uuid>,
    timeout: Duration,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE deliveries
             SET ring_at = clock_timestamp() + $2 * interval '1 millisecond'
             WHERE id IN (SELECT id FROM deliveries
                          WHERE id = ANY($1) AND state NOT IN ('done', 'buried')
                            AND ring_at <= clock_timestamp()
                          ORDER BY id FOR UPDATE)
               AND state NOT IN ('done', 'buried')",
        sqlite: "UPDATE deliveries
             SET ring_at = (SELECT now FROM clock) + $2
             WHERE id IN (SELECT unhex(value) FROM json_each($1))
               AND state IN ('pending', 'claimed') AND ring_at <= (SELECT now FROM clock)",
    })
    .bind(List(ids))
    .bind(millis(timeout))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(())
}

async fn backlog<B: Backend>(session: Session<B>) -> Result<Backlog, Fault> {
    let row: (Moment, i64, i64, i64, i64) = query::<B>(Sql {
        postgres: "SELECT now(),
                count(*),
                coalesce((extract(epoch FROM now() - min(recorded_at)) * 1000)::bigint, 0),
                greatest((extract(epoch FROM now() - min(claimable_at)) * 1000)::bigint, 0),
                (SELECT count(*) FROM deliveries WHERE state = 'buried')
             FROM deliveries
             WHERE state IN ('pending', 'claimed')",
        sqlite: "SELECT (SELECT now FROM clock),
                count(*),
                coalesce((SELECT now FROM clock) - min(recorded_at), 0),
                coalesce(max((SELECT now FROM clock) - min(claimable_at), 0), 0),
                (SELECT count(*) FROM deliveries WHERE state = 'buried')
             FROM deliveries
             WHERE state IN ('pending', 'claimed')",
    })
    .fetch_one(&mut *session.reader().await?)
    .await?;
    let (at, unfinished, oldest, overdue, dead_letters) = row;
    Ok(Backlog {
        at: at.into(),
        unfinished: count(unfinished),
        oldest: span(oldest),
        overdue: span(overdue),
        dead_letters: count(dead_letters),
    })
}
