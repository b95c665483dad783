//! The consume of whatever an attempt has: its newest artifact, in one step.

use pipeline::{
    ArtifactId, AttemptConsume, AttemptConsumed, AttemptStatus, AttemptView, ConsumeRequest,
    Consumed,
};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::Postgres;
use super::attempts;
use super::pool::Pool;
use crate::consumes;
use crate::fault::Fault;
use crate::seal::Keyring;
use crate::stored::Way;

/// How often the newest is looked for before the asker is told to ask again.
const TRIES: u32 = 3;

pub(super) async fn consume(
    pool: Pool,
    keyring: Keyring,
    request: AttemptConsume,
) -> Result<AttemptConsumed, Fault> {
    let mut connection = pool.lend().await?;
    let mut transaction = connection.begin().await?;
    let consumed = take(&mut transaction, &keyring, &request).await?;
    transaction.commit().await?;
    Ok(consumed)
}

/// Consumes within a transaction, like [`consumes::take()`]. A retry is for what
/// the first request got, whatever has come since; a new request is for the
/// newest.
async fn take(
    connection: &mut PgConnection,
    keyring: &Keyring,
    request: &AttemptConsume,
) -> Result<AttemptConsumed, Fault> {
    let row = attempts::find_in(connection, request.attempt, &request.scope).await?;
    let Some(row) = row else {
        return Ok(AttemptConsumed::Unknown);
    };
    match used_key(connection, request).await? {
        Some((attempt, _)) if attempt != Some(row.id) => return Ok(AttemptConsumed::KeyReused),
        Some((_, artifact)) => {
            let artifact = ArtifactId::from_uuid(artifact);
            let consumed = take_one(connection, keyring, request, artifact).await?;
            return answer(connection, request, artifact, consumed).await;
        }
        None => {}
    }
    let mut view = attempts::view(connection, row).await?;
    // A newer one may come between the look and the consume.
    for _ in 0..TRIES {
        let artifact = match (&view.current, view.status()) {
            (
                Some(current),
                AttemptStatus::Ready | AttemptStatus::Superseded | AttemptStatus::Consumed,
            ) => current.id,
            _ => break,
        };
        let consumed = take_one(connection, keyring, request, artifact).await?;
        if !matches!(consumed, Consumed::Superseded) {
            return answer(connection, request, artifact, consumed).await;
        }
        view = look_again(connection, request).await?;
    }
    Ok(AttemptConsumed::NotReady(Box::new(view)))
}

async fn take_one(
    connection: &mut PgConnection,
    keyring: &Keyring,
    request: &AttemptConsume,
    artifact: ArtifactId,
) -> Result<Consumed, Fault> {
    let asked = ConsumeRequest {
        artifact,
        consumer: request.consumer.clone(),
        scope: request.scope.clone(),
        idempotency_key: request.idempotency_key.clone(),
        replay_window: request.replay_window,
    };
    consumes::take::<Postgres>(connection, keyring, &asked, Way::Attempt).await
}

async fn look_again(
    connection: &mut PgConnection,
    request: &AttemptConsume,
) -> Result<AttemptView, Fault> {
    let row = attempts::find_in(connection, request.attempt, &request.scope).await?;
    attempts::view(connection, row.ok_or(Fault::Restless)?).await
}

/// What the idempotency key was used for: which attempt's, which artifact.
async fn used_key(
    connection: &mut PgConnection,
    request: &AttemptConsume,
) -> Result<Option<(Option<Uuid>, Uuid)>, Fault> {
    let used = sqlx::query_as(
        "SELECT a.attempt_id, a.id FROM consumes c JOIN artifacts a ON a.id = c.artifact_id
         WHERE c.consumer = $1 AND c.idempotency_key = $2",
    )
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .fetch_optional(connection)
    .await?;
    Ok(used)
}

/// What came of the consume, in the words of the attempt.
async fn answer(
    connection: &mut PgConnection,
    request: &AttemptConsume,
    artifact: ArtifactId,
    consumed: Consumed,
) -> Result<AttemptConsumed, Fault> {
    let is_replay = matches!(consumed, Consumed::Replayed { .. });
    match consumed {
        Consumed::First { kind, value, at } | Consumed::Replayed { kind, value, at } => {
            Ok(AttemptConsumed::Value {
                artifact,
                kind,
                value,
                at,
                is_replay,
            })
        }
        Consumed::Already { at } => Ok(AttemptConsumed::Already { at }),
        Consumed::KeyReused => Ok(AttemptConsumed::KeyReused),
        Consumed::Withheld(_)
        | Consumed::Superseded
        | Consumed::Expired { .. }
        | Consumed::Unknown => {
            let view = look_again(connection, request).await?;
            Ok(AttemptConsumed::NotReady(Box::new(view)))
        }
    }
}
