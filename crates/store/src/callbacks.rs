//! Values on their way to callbacks: consumed in the callback's name, then sent until
//! the receiver has them.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ArtifactId, AttemptId, Callback, CallbackId, CallbackLog, CallbackResult, ClaimToken,
    DeadCallback, Reason, StoreError,
};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::{List, Moment};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::feed;
use crate::seal::{Keyring, Row};
use crate::stored::{attempts, millis, span};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> CallbackLog for Database<B> {
    async fn claim_callbacks(
        &self,
        limit: u32,
        lease: Duration,
        busy: &[String],
    ) -> Result<Vec<Callback>, StoreError> {
        let busy = busy.to_vec();
        self.run(SHORT, |session| claim(session, limit, lease, busy))
            .await
    }

    async fn end_callback(
        &self,
        callback: CallbackId,
        token: ClaimToken,
        result: CallbackResult,
    ) -> Result<bool, StoreError> {
        self.run(SHORT, |session| end(session, callback, token, result))
            .await
    }

    async fn requeue_callback(&self, callback: CallbackId) -> Result<bool, StoreError> {
        self.run(SHORT, |session| requeue(session, callback)).await
    }

    async fn dead_callbacks(&self, limit: u32) -> Result<Vec<DeadCallback>, StoreError> {
        self.run(SHORT, |session| dead(session, limit)).await
    }
}

/// Consumes an artifact in the name of its attempt's callback. This is part of the
/// transaction that gives the artifact to the attempt.
pub(crate) async fn call<B: Backend>(
    connection: &mut Connection<B>,
    attempt: Uuid,
    artifact: Uuid,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
             SELECT $2, 'callback:' || callback, $3, clock_timestamp(), 'callback'
             FROM attempts WHERE id = $1",
        sqlite: "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
             SELECT $2, 'callback:' || callback, $3, (SELECT now FROM clock), 'callback'
             FROM attempts WHERE id = $1",
    })
    .bind(attempt)
    .bind(artifact)
    .bind(artifact.to_string())
    .execute(connection)
    .await?;
    // A value that arrives just before the deadline can still be sent for a minute.
    query::<B>(Sql {
        postgres: "INSERT INTO callbacks (id, artifact_id, attempt_id, name, due_at, deadline)
             SELECT $3, $2, id, callback, now, greatest(deadline, now + interval '1 minute')
             FROM attempts, clock_timestamp() AS now WHERE id = $1",
        sqlite: "INSERT INTO callbacks (id, artifact_id, attempt_id, name, due_at, deadline)
             SELECT $3, $2, id, callback, now, max(deadline, now + 60000)
             FROM attempts, clock WHERE id = $1",
    })
    .bind(attempt)
    .bind(artifact)
    .bind(CallbackId::new().as_uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// A callback that is claimed more than this many milliseconds after its deadline is given
/// up without a last try. This happens when no worker was running.
const OVERDUE: i64 = 60_000;

/// A claimed row: its id, artifact, attempt, name, the link's field, tries, and
/// the milliseconds that are left.
type Claimed = (Uuid, Uuid, Uuid, String, Option<String>, i32, i64);

/// No lock is waited for, so times are compared with `now()`.
async fn claim<B: Backend>(
    session: Session<B>,
    limit: u32,
    lease: Duration,
    busy: Vec<String>,
) -> Result<Vec<Callback>, Fault> {
    let token = ClaimToken::new();
    let mut connection = session.writer().await?;
    let rows: Vec<Claimed> = query::<B>(Sql {
        postgres: "UPDATE callbacks c
             SET claim_token = $1, tries = tries + 1,
                 due_at = now() + $2 * interval '1 millisecond'
             FROM attempts t
             WHERE t.id = c.attempt_id
               AND c.id IN (SELECT id FROM callbacks
                            WHERE state = 'pending' AND due_at <= now() AND name <> ALL($4)
                            ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
             RETURNING c.id, c.artifact_id, c.attempt_id, c.name, t.token, c.tries,
                       (extract(epoch FROM c.deadline - now()) * 1000)::bigint",
        sqlite: "UPDATE callbacks
             SET claim_token = $1, tries = tries + 1, due_at = (SELECT now FROM clock) + $2
             WHERE id IN (SELECT id FROM callbacks
                          WHERE state = 'pending' AND due_at <= (SELECT now FROM clock)
                            AND name NOT IN (SELECT value FROM json_each($4))
                          ORDER BY due_at LIMIT $3)
             RETURNING id, artifact_id, attempt_id, name,
                       (SELECT token FROM attempts WHERE id = callbacks.attempt_id), tries,
                       deadline - (SELECT now FROM clock)",
    })
    .bind(token.as_uuid())
    .bind(millis(lease))
    .bind(i64::from(limit))
    .bind(List(busy))
    .fetch_all(&mut connection)
    .await?;
    let keyring = &session.secrets.keyring;
    let mut callbacks = Vec::with_capacity(rows.len());
    for row in rows {
        let (id, remaining) = (row.0, row.6);
        if remaining < -OVERDUE {
            give_up::<B>(&mut connection, id, "deadline").await?;
            continue;
        }
        match load::<B>(&mut connection, keyring, token, row).await {
            Ok(Some(callback)) => callbacks.push(callback),
            // The item was deleted: the retention time of its inbox is shorter.
            Ok(None) => give_up::<B>(&mut connection, id, "value_gone").await?,
            Err(Fault::Damaged(_)) => give_up::<B>(&mut connection, id, "damaged").await?,
            // Another worker may have the key, or this one may get it. The callback is
            // claimed again when its lease expires, until its deadline.
            Err(Fault::KeyUnknown(_)) if remaining > 0 => {}
            Err(Fault::KeyUnknown(_)) => give_up::<B>(&mut connection, id, "key_unknown").await?,
            Err(other) => return Err(other),
        }
    }
    Ok(callbacks)
}

async fn load<B: Backend>(
    connection: &mut Connection<B>,
    keyring: &Keyring,
    token: ClaimToken,
    (id, artifact, attempt, name, field, tries, remaining): Claimed,
) -> Result<Option<Callback>, Fault> {
    let item = feed::item::<B>(connection, artifact).await?;
    let value: Option<(Option<String>, Option<Vec<u8>>)> = query::<B>(Sql::both(
        "SELECT value_key, value FROM artifacts WHERE id = $1",
    ))
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

async fn give_up<B: Backend>(
    connection: &mut Connection<B>,
    callback: Uuid,
    why: &str,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE callbacks
             SET state = 'dead', reason = $2, claim_token = NULL, finished_at = clock_timestamp()
             WHERE id = $1",
        sqlite: "UPDATE callbacks
             SET state = 'dead', reason = $2, claim_token = NULL,
                 finished_at = (SELECT now FROM clock)
             WHERE id = $1",
    })
    .bind(callback)
    .bind(why)
    .execute(connection)
    .await?;
    Ok(())
}

async fn end<B: Backend>(
    session: Session<B>,
    callback: CallbackId,
    token: ClaimToken,
    result: CallbackResult,
) -> Result<bool, Fault> {
    let (state, wait, reason) = match &result {
        CallbackResult::Done => ("done", Duration::ZERO, None),
        CallbackResult::RetryLater(wait, reason) => ("pending", *wait, Some(reason)),
        CallbackResult::Dead(reason) => ("dead", Duration::ZERO, Some(reason)),
    };
    let written = query::<B>(Sql {
        postgres: "UPDATE callbacks
             SET state = $3, reason = $4, claim_token = NULL,
                 due_at = clock_timestamp() + $5 * interval '1 millisecond',
                 finished_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END
             WHERE id = $1 AND claim_token = $2 AND state = 'pending'",
        sqlite: "UPDATE callbacks
             SET state = $3, reason = $4, claim_token = NULL,
                 due_at = (SELECT now FROM clock) + $5,
                 finished_at = CASE WHEN $3 <> 'pending' THEN (SELECT now FROM clock) END
             WHERE id = $1 AND claim_token = $2 AND state = 'pending'",
    })
    .bind(callback.as_uuid())
    .bind(token.as_uuid())
    .bind(state)
    .bind(reason.map(Reason::as_str))
    .bind(millis(wait))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(written == 1)
}

/// The clock is asked after the lock was obtained: the value may expire during the wait.
async fn requeue<B: Backend>(session: Session<B>, callback: CallbackId) -> Result<bool, Fault> {
    let requeued = query::<B>(Sql {
        postgres: "WITH locked AS MATERIALIZED (
                 SELECT id, artifact_id FROM callbacks
                 WHERE id = $1 AND state = 'dead'
                 FOR UPDATE
             ), judged AS MATERIALIZED (
                 SELECT id, artifact_id, clock_timestamp() AS now FROM locked
             )
             UPDATE callbacks
             SET state = 'pending', tries = 0, reason = NULL, finished_at = NULL,
                 due_at = now, deadline = a.expires_at
             FROM judged JOIN artifacts a ON a.id = judged.artifact_id
             WHERE callbacks.id = judged.id AND a.value IS NOT NULL AND a.expires_at > now",
        sqlite: "UPDATE callbacks
             SET state = 'pending', tries = 0, reason = NULL, finished_at = NULL,
                 due_at = (SELECT now FROM clock), deadline = a.expires_at
             FROM artifacts a
             WHERE callbacks.id = $1 AND state = 'dead' AND a.id = artifact_id
               AND a.value IS NOT NULL AND a.expires_at > (SELECT now FROM clock)",
    })
    .bind(callback.as_uuid())
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(requeued == 1)
}

async fn dead<B: Backend>(session: Session<B>, limit: u32) -> Result<Vec<DeadCallback>, Fault> {
    type Columns = (Uuid, String, Uuid, i32, Option<String>, Moment);
    let rows: Vec<Columns> = query::<B>(Sql::both(
        "SELECT id, name, attempt_id, tries, reason, finished_at FROM callbacks
         WHERE state = 'dead' ORDER BY finished_at DESC, id LIMIT $1",
    ))
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
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
                at: at.into(),
            })
        });
    dead.collect()
}
