//! Values on their way to callbacks: consumed in the callback's name, then told
//! until the receiver has them.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ArtifactId, AttemptId, Callback, CallbackId, CallbackLog, CallbackResult, ClaimToken,
    DeadCallback, Reason, StoreError, Timestamp,
};
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

use super::{Sqlite, artifacts};
use crate::fault::Fault;
use crate::seal::{Keyring, Row};
use crate::stored::{attempts, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl CallbackLog for Sqlite {
    async fn claim_callbacks(
        &self,
        limit: u32,
        lease: Duration,
        busy: &[String],
    ) -> Result<Vec<Callback>, StoreError> {
        let (writer, keyring) = (self.writer.clone(), self.secrets.keyring.clone());
        let work = claim(writer, keyring, limit, lease, busy.to_vec());
        self.work.run(SHORT, work).await
    }

    async fn end_callback(
        &self,
        callback: CallbackId,
        token: ClaimToken,
        told: CallbackResult,
    ) -> Result<bool, StoreError> {
        let work = end(self.writer.clone(), callback, token, told);
        self.work.run(SHORT, work).await
    }

    async fn requeue_callback(&self, callback: CallbackId) -> Result<bool, StoreError> {
        let work = requeue(self.writer.clone(), callback);
        self.work.run(SHORT, work).await
    }

    async fn dead_callbacks(&self, limit: u32) -> Result<Vec<DeadCallback>, StoreError> {
        self.work
            .run(SHORT, dead(self.readers.clone(), limit))
            .await
    }
}

/// Consumes an artifact in the name of its attempt's callback, if it has one.
/// This is part of the transaction that gives the artifact to the attempt.
pub(super) async fn call(
    connection: &mut SqliteConnection,
    attempt: Uuid,
    artifact: Uuid,
) -> Result<(), Fault> {
    let consumed = sqlx::query(
        "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
         SELECT $2, 'callback:' || callback, lower(hex($2)), (SELECT now FROM clock), 'callback'
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
        "INSERT INTO callbacks (id, artifact_id, attempt_id, name, due_at, deadline)
         SELECT $3, $2, id, callback, now, max(deadline, now + 60000)
         FROM attempts, clock WHERE id = $1",
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
    writer: SqlitePool,
    keyring: Keyring,
    limit: u32,
    lease: Duration,
    busy: Vec<String>,
) -> Result<Vec<Callback>, Fault> {
    let token = ClaimToken::new();
    let mut connection = writer.acquire().await?;
    let rows: Vec<Claimed> = sqlx::query_as(
        "UPDATE callbacks
         SET claim_token = $1, tries = tries + 1, due_at = (SELECT now FROM clock) + $2
         WHERE id IN (SELECT id FROM callbacks
                      WHERE state = 'pending' AND due_at <= (SELECT now FROM clock)
                        AND name NOT IN (SELECT value FROM json_each($4))
                      ORDER BY due_at LIMIT $3)
         RETURNING id, artifact_id, attempt_id, name,
                   (SELECT token FROM attempts WHERE id = callbacks.attempt_id), tries,
                   deadline - (SELECT now FROM clock)",
    )
    .bind(token.as_uuid())
    .bind(millis(lease))
    .bind(i64::from(limit))
    // SQLite has no arrays. Names hold nothing that JSON would have to escape.
    .bind(format!("{busy:?}"))
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
    connection: &mut SqliteConnection,
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

async fn give_up(
    connection: &mut SqliteConnection,
    callback: Uuid,
    why: &str,
) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE callbacks
         SET state = 'dead', reason = $2, claim_token = NULL, finished_at = (SELECT now FROM clock)
         WHERE id = $1",
    )
    .bind(callback)
    .bind(why)
    .execute(connection)
    .await?;
    Ok(())
}

async fn end(
    writer: SqlitePool,
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
             due_at = (SELECT now FROM clock) + $5,
             finished_at = CASE WHEN $3 <> 'pending' THEN (SELECT now FROM clock) END
         WHERE id = $1 AND claim_token = $2 AND state = 'pending'",
    )
    .bind(callback.as_uuid())
    .bind(token.as_uuid())
    .bind(state)
    .bind(reason.map(Reason::as_str))
    .bind(millis(wait))
    .execute(&writer)
    .await?;
    Ok(written.rows_affected() == 1)
}

async fn requeue(writer: SqlitePool, callback: CallbackId) -> Result<bool, Fault> {
    let requeued = sqlx::query(
        "UPDATE callbacks
         SET state = 'pending', tries = 0, reason = NULL, finished_at = NULL,
             due_at = (SELECT now FROM clock), deadline = a.expires_at
         FROM artifacts a
         WHERE callbacks.id = $1 AND state = 'dead' AND a.id = artifact_id
           AND a.value IS NOT NULL AND a.expires_at > (SELECT now FROM clock)",
    )
    .bind(callback.as_uuid())
    .execute(&writer)
    .await?;
    Ok(requeued.rows_affected() == 1)
}

async fn dead(readers: SqlitePool, limit: u32) -> Result<Vec<DeadCallback>, Fault> {
    type Row = (Uuid, String, Uuid, i32, Option<String>, i64);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, name, attempt_id, tries, reason, finished_at FROM callbacks
         WHERE state = 'dead' ORDER BY finished_at DESC, id LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(&readers)
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
                at: Timestamp::from_millis(at),
            })
        });
    dead.collect()
}
