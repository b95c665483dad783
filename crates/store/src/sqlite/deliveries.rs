//! The first layer: one row for each delivery, decided by `delivery_key`.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{Backlog, DeliveryId, DeliveryLog, NewDelivery, Recorded, StoreError, Timestamp};
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

use super::Sqlite;
use crate::batch::{Batch, Candidate, Holder};
use crate::fault::Fault;
use crate::stored::{content_digest, count, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl DeliveryLog for Sqlite {
    async fn record(&self, batch: Vec<NewDelivery>) -> Result<Vec<Recorded>, StoreError> {
        let (writer, secrets) = (self.writer.clone(), self.secrets.clone());
        // Sealing needs no connection, so none is held meanwhile.
        let work = async move { record(writer, Batch::new(batch, &secrets)?).await };
        self.work.run(SHORT, work).await
    }

    async fn due(&self, limit: u32) -> Result<Vec<DeliveryId>, StoreError> {
        let work = due(self.readers.clone(), limit);
        self.work.run(SHORT, work).await
    }

    async fn mark_notified(
        &self,
        deliveries: &[DeliveryId],
        patience: Duration,
    ) -> Result<(), StoreError> {
        let work = mark_notified(self.writer.clone(), deliveries.to_vec(), patience);
        self.work.run(SHORT, work).await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        self.work.run(SHORT, backlog(self.readers.clone())).await
    }
}

async fn record(writer: SqlitePool, batch: Batch) -> Result<Vec<Recorded>, Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    let answers = settle(&mut transaction, batch).await?;
    transaction.commit().await?;
    Ok(answers)
}

/// Inserts what is new and looks up what is not, until everybody has an answer.
/// The writer is alone, so a second round takes the conflict keys and is the last.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    mut batch: Batch,
) -> Result<Vec<Recorded>, Fault> {
    const ROUNDS: usize = 2;
    for _ in 0..ROUNDS {
        for candidate in batch.take_open() {
            if insert(connection, &batch, &candidate).await? {
                batch.inserted(candidate)?;
            } else {
                let holder = holder(connection, &candidate).await?;
                batch.lost(candidate, holder)?;
            }
        }
        if batch.is_settled() {
            break;
        }
    }
    batch.into_answers()
}

async fn insert(
    connection: &mut SqliteConnection,
    batch: &Batch,
    candidate: &Candidate,
) -> Result<bool, Fault> {
    let delivery = batch.delivery(candidate)?;
    let written = sqlx::query(
        "INSERT INTO deliveries
             (id, source, delivery_key, content_digest, content_type, conflict_of, body,
              body_key, recorded_at, claimable_at, ring_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, now, now, now + 2000 FROM clock
         WHERE true
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
    Ok(written.rows_affected() == 1)
}

async fn holder(
    connection: &mut SqliteConnection,
    candidate: &Candidate,
) -> Result<Option<Holder>, Fault> {
    let row: Option<(Uuid, Vec<u8>)> =
        sqlx::query_as("SELECT id, content_digest FROM deliveries WHERE delivery_key = $1")
            .bind(candidate.key.as_bytes().as_slice())
            .fetch_optional(connection)
            .await?;
    row.map(|(id, digest)| {
        Ok(Holder {
            id: DeliveryId::from_uuid(id),
            content: content_digest(&digest)?,
        })
    })
    .transpose()
}

async fn due(readers: SqlitePool, limit: u32) -> Result<Vec<DeliveryId>, Fault> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT id FROM deliveries
         WHERE state IN ('pending', 'claimed') AND ring_at <= (SELECT now FROM clock)
         ORDER BY ring_at, id
         LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&readers)
    .await?;
    Ok(ids.into_iter().map(DeliveryId::from_uuid).collect())
}

async fn mark_notified(
    writer: SqlitePool,
    deliveries: Vec<DeliveryId>,
    patience: Duration,
) -> Result<(), Fault> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    for delivery in deliveries {
        sqlx::query(
            "UPDATE deliveries
             SET ring_at = max(ring_at, (SELECT now FROM clock) + $2)
             WHERE id = $1 AND state IN ('pending', 'claimed')",
        )
        .bind(delivery.as_uuid())
        .bind(millis(patience))
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn backlog(readers: SqlitePool) -> Result<Backlog, Fault> {
    let row: (i64, i64, i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT now FROM clock),
                count(*),
                coalesce((SELECT now FROM clock) - min(recorded_at), 0),
                coalesce(max((SELECT now FROM clock) - min(claimable_at), 0), 0),
                (SELECT count(*) FROM deliveries WHERE state = 'buried')
         FROM deliveries
         WHERE state IN ('pending', 'claimed')",
    )
    .fetch_one(&readers)
    .await?;
    let (at, unfinished, oldest, overdue, dead_letters) = row;
    Ok(Backlog {
        at: Timestamp::from_millis(at),
        unfinished: count(unfinished),
        oldest: span(oldest),
        overdue: span(overdue),
        dead_letters: count(dead_letters),
    })
}
