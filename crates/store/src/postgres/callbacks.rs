//! Values on their way to callbacks: consumed in the callback's name, then told
//! until the receiver has them.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ArtifactId, AttemptId, Callback, CallbackId, CallbackLog, CallbackResult, ClaimToken,
    DeadCallback, Reason, StoreError,
};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::moment::timestamp;
use super::pool::Pool;
use super::{Postgres, artifacts};
use crate::fault::Fault;
use crate::seal::{Keyring, Row};
use crate::stored::{attempts, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl CallbackLog for Postgres {
    async fn claim_callbacks(
        &self,
        limit: u32,
        lease: Duration,
        busy: &[String],
    ) -> Result<Vec<Callback>, StoreError> {
        let (pool, keyring) = (self.pool.clone(), self.secrets.keyring.clone());
        let work = claim(pool, keyring, limit, lease, busy.to_vec());
        self.work.run(SHORT, work).await
    }

    async fn end_callback(
        &self,
        callback: CallbackId,
        token: ClaimToken,
        told: CallbackResult,
    ) -> Result<bool, StoreError> {
        let work = end(self.pool.clone(), callback, token, told);
        self.work.run(SHORT, work).await
    }

    async fn requeue_callback(&self, callback: CallbackId) -> Result<bool, StoreError> {
        let work = requeue(self.pool.clone(), callback);
        self.work.run(SHORT, work).await
    }

    async fn dead_callbacks(&self, limit: u32) -> Result<Vec<DeadCallback>, StoreError> {
        self.work.run(SHORT, dead(self.pool.clone(), limit)).await
    }
}

/// Consumes an artifact in the name of its attempt's callback, if it has one.
/// This is part of the transaction that gives the artifact to the attempt.
pub(super) async fn call(
    connection: &mut PgConnection,
    attempt: Uuid,
    artifact: Uuid,
) -> Result<(), Fault> {
    let consumed = sqlx::query(
        "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
         SELECT $2, 'callback:' || callback, $2::text, clock_timestamp(), 'callback'
         FROM attempts WHERE id = $1 AND callback IS NOT NULL",
    )
    .bind(attempt)
    .bind(artifact)
    .execute(&mut *connection)
    .await?;
    if consumed.rows_affected() == 0 {
        return Ok(());
    }
    // Mail that came at the last moment is told for a minute at least.
    sqlx::query(
        "INSERT INTO callbacks (id, artifact_id, attempt_id, name, deadline)
         SELECT $3, $2, id, callback, greatest(deadline, now() + interval '1 minute')
         FROM attempts WHERE id = $1",
    )
    .bind(attempt)
    .bind(artifact)
    .bind(CallbackId::new().as_uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// How many milliseconds after its deadline a callback is not worth a last try: every
/// worker was away.
const OVERDUE: i64 = 60_000;

/// A claimed row: its id, artifact, attempt, name, the link's field, tries, and
/// the milliseconds that are left.
type Claimed = (Uuid, Uuid, Uuid, String, Option<String>, i32, i64);

async fn claim(
    pool: Pool,
    keyring: Keyring,
    limit: u32,
    lease: Duration,
    busy: Vec<String>,
) -> Result<Vec<Callback>, Fault> {
    let token = ClaimToken::new();
    let mut connection = pool.lend().await?;
    let rows: Vec<Claimed> = sqlx::query_as(
        "UPDATE callbacks c
         SET claim_token = $1, tries = tries + 1,
             due_at = now() + $2 * interval '1 millisecond'
         FROM attempts t
         WHERE t.id = c.attempt_id
           AND c.id IN (SELECT id FROM callbacks
                        WHERE state = 'pending' AND due_at <= now() AND name <> ALL($4)
                        ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         RETURNING c.id, c.artifact_id, c.attempt_id, c.name, t.token, c.tries,
                   (extract(epoch FROM c.deadline - now()) * 1000)::bigint",
    )
    .bind(token.as_uuid())
    .bind(millis(lease))
    .bind(i64::from(limit))
    .bind(busy)
    .fetch_all(&mut *connection)
    .await?;
    let mut callbacks = Vec::with_capacity(rows.len());
    for row in rows {
        let (id, remaining) = (row.0, row.6);
        if remaining < -OVERDUE {
            give_up(&mut connection, id, "deadline").await?;
            continue;
        }
        match load(&mut connection, &keyring, token, row).await {
            Ok(Some(callback)) => callbacks.push(callback),
            // Its inbox keeps items for less time than this took.
            Ok(None) => give_up(&mut connection, id, "value_gone").await?,
            Err(Fault::Damaged(_)) => give_up(&mut connection, id, "damaged").await?,
            // Another worker may have the key, or this one get it: it comes back when
            // its lease ends, until its time is over. The others go on.
            Err(Fault::KeyUnknown(_)) if remaining > 0 => {}
            Err(Fault::KeyUnknown(_)) => give_up(&mut connection, id, "key_unknown").await?,
            Err(other) => return Err(other),
        }
    }
    Ok(callbacks)
}

async fn load(
    connection: &mut PgConnection,
    keyring: &Keyring,
    token: ClaimToken,
    (id, artifact, attempt, name, field, tries, remaining): Claimed,
) -> Result<Option<Callback>, Fault> {
    let item = artifacts::item(&mut *connection, artifact).await?;
    let value: Option<(Option<String>, Option<Vec<u8>>)> =
        sqlx::query_as("SELECT value_key, value FROM artifacts WHERE id = $1")
            .bind(artifact)
            .fetch_optional(connection)
            .await?;
    let value = value.and_then(|(key, sealed)| key.zip(sealed));
    let Some((item, (key, sealed))) = item.zip(value) else {
        return Ok(None);
    };
    let row = Row::artifact(ArtifactId::from_uuid(artifact), &item.inbox);
    Ok(Some(Callback {
        id: CallbackId::from_uuid(id),
        token,
        name,
        attempt: AttemptId::from_uuid(attempt),
        value: keyring.open_text(row, &key, &sealed)?,
        artifact: item.try_into()?,
        field,
        tries: attempts(tries)?,
        remaining: span(remaining),
    }))
}

async fn give_up(connection: &mut PgConnection, callback: Uuid, why: &str) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE callbacks
         SET state = 'dead', reason = $2, claim_token = NULL, finished_at = now()
         WHERE id = $1",
    )
    .bind(callback)
    .bind(why)
    .execute(connection)
    .await?;
    Ok(())
}

async fn end(
    pool: Pool,
    callback: CallbackId,
    token: ClaimToken,
    told: CallbackResult,
) -> Result<bool, Fault> {
    let (state, wait, reason) = match &told {
        CallbackResult::Done => ("done", Duration::ZERO, None),
        CallbackResult::RetryLater(wait, reason) => ("pending", *wait, Some(reason)),
        CallbackResult::Dead(reason) => ("dead", Duration::ZERO, Some(reason)),
    };
    let written = sqlx::query(
        "UPDATE callbacks
         SET state = $3, reason = $4, claim_token = NULL,
             due_at = now() + $5 * interval '1 millisecond',
             finished_at = CASE WHEN $3 = 'pending' THEN NULL ELSE now() END
         WHERE id = $1 AND claim_token = $2 AND state = 'pending'",
    )
    .bind(callback.as_uuid())
    .bind(token.as_uuid())
    .bind(state)
    .bind(reason.map(Reason::as_str))
    .bind(millis(wait))
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(written.rows_affected() == 1)
}

async fn requeue(pool: Pool, callback: CallbackId) -> Result<bool, Fault> {
    let requeued = sqlx::query(
        "UPDATE callbacks
         SET state = 'pending', tries = 0, reason = NULL, finished_at = NULL, due_at = now(),
             deadline = a.expires_at
         FROM artifacts a
         WHERE callbacks.id = $1 AND state = 'dead' AND a.id = artifact_id
           AND a.value IS NOT NULL AND a.expires_at > now()",
    )
    .bind(callback.as_uuid())
    .execute(&mut *pool.lend().await?)
    .await?;
    Ok(requeued.rows_affected() == 1)
}

async fn dead(pool: Pool, limit: u32) -> Result<Vec<DeadCallback>, Fault> {
    type Row = (Uuid, String, Uuid, i32, Option<String>, OffsetDateTime);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, name, attempt_id, tries, reason, finished_at FROM callbacks
         WHERE state = 'dead' ORDER BY finished_at DESC, id LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&mut *pool.lend().await?)
    .await?;
    let dead = rows
        .into_iter()
        .map(|(id, name, attempt, tries, reason, at)| {
            Ok(DeadCallback {
                id: CallbackId::from_uuid(id),
                name,
                attempt: AttemptId::from_uuid(attempt),
                tries: attempts(tries)?,
                reason: Reason::from_stored(reason.as_deref().unwrap_or_default()),
                at: timestamp(at),
            })
        });
    dead.collect()
}
