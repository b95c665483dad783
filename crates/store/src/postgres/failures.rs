//! What was given up.

use async_trait::async_trait;
use pipeline::{DeadLetter, DeliveryId, FailureLog, Reason, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::Postgres;
use super::moment::timestamp;
use super::pool::Pool;
use crate::fault::Fault;
use crate::seal::{Keyring, Row as SealedRow};
use crate::stored::{attempts, body_bytes, source};
use crate::uncancelled::SHORT;

#[async_trait]
impl FailureLog for Postgres {
    async fn dead_letters(&self, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        let work = dead_letters(self.pool.clone(), limit);
        self.work.run(SHORT, work).await
    }

    async fn find_dead_letter(
        &self,
        delivery: DeliveryId,
    ) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, StoreError> {
        let work = find_dead_letter(self.pool.clone(), self.secrets.keyring.clone(), delivery);
        self.work.run(SHORT, work).await
    }

    async fn requeue(&self, delivery: DeliveryId) -> Result<bool, StoreError> {
        let work = requeue(self.pool.clone(), delivery);
        self.work.run(SHORT, work).await
    }
}

async fn dead_letters(pool: Pool, limit: u32) -> Result<Vec<DeadLetter>, Fault> {
    let rows = sqlx::query(
        "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                octet_length(body)::bigint AS body_bytes, conflict_of IS NOT NULL AS is_conflict
         FROM deliveries
         WHERE state = 'buried'
         ORDER BY finished_at DESC, id DESC
         LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    rows.iter().map(read).collect()
}

async fn find_dead_letter(
    pool: Pool,
    keyring: Keyring,
    delivery: DeliveryId,
) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, Fault> {
    let row = sqlx::query(
        "SELECT id, source, reason, attempts, recorded_at, finished_at, content_type,
                octet_length(body)::bigint AS body_bytes, conflict_of IS NOT NULL AS is_conflict,
                body, body_key
         FROM deliveries
         WHERE id = $1 AND state = 'buried'",
    )
    .bind(delivery.as_uuid())
    .fetch_optional(&mut *pool.lend().await?)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let buried = read(&row)?;
    let sealed: Option<(String, Vec<u8>)> = match row.try_get("body_key")? {
        Some(key) => Some((key, row.try_get("body")?)),
        None => None,
    };
    let body = sealed.map(|(key, body)| {
        let row = SealedRow::delivery(delivery, buried.source.as_str());
        keyring.open(row, &key, &body)
    });
    Ok(Some((buried, body.transpose()?)))
}

async fn requeue(pool: Pool, delivery: DeliveryId) -> Result<bool, Fault> {
    let written = sqlx::query(
        "UPDATE deliveries
         SET state = 'pending', attempts = 0, claimable_at = now(), ring_at = now(),
             reason = NULL, finished_at = NULL
         WHERE id = $1 AND state = 'buried' AND body IS NOT NULL",
    )
    .bind(delivery.as_uuid())
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(written.rows_affected() == 1)
}

fn read(row: &PgRow) -> Result<DeadLetter, Fault> {
    let reason: String = row.try_get("reason")?;
    Ok(DeadLetter {
        id: DeliveryId::from_uuid(row.try_get("id")?),
        source: source(row.try_get("source")?)?,
        reason: Reason::from_stored(&reason),
        attempts: attempts(row.try_get("attempts")?)?,
        recorded_at: timestamp(row.try_get("recorded_at")?),
        dead_lettered_at: timestamp(row.try_get("finished_at")?),
        body_bytes: row.try_get::<Option<i64>, _>("body_bytes")?.map(body_bytes),
        content_type: row.try_get("content_type")?,
        is_conflict: row.try_get("is_conflict")?,
    })
}
