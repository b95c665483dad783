//! The consume of whatever an attempt has: its newest artifact, in one step.

use pipeline::{ArtifactId, AttemptConsume, AttemptConsumed, ConsumeRequest, Consumed, Status};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::pool::Pool;
use super::{attempts, consumes};
use crate::fault::Fault;
use crate::seal::Keyring;

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
    let artifact = match used_key(connection, request).await? {
        Some((attempt, _)) if attempt != Some(row.id) => return Ok(AttemptConsumed::KeyReused),
        Some((_, artifact)) => ArtifactId::from_uuid(artifact),
        None => {
            let view = attempts::view(connection, row).await?;
            match (&view.current, view.status()) {
                (Some(current), Status::Ready | Status::Superseded | Status::Consumed) => {
                    current.id
                }
                _ => return Ok(AttemptConsumed::NotReady(Box::new(view))),
            }
        }
    };
    let asked = ConsumeRequest {
        artifact,
        consumer: request.consumer.clone(),
        scope: request.scope.clone(),
        idempotency_key: request.idempotency_key.clone(),
        replay_window: request.replay_window,
    };
    let consumed = consumes::take(connection, keyring, &asked).await?;
    answer(connection, request, artifact, consumed).await
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
            let row = attempts::find_in(connection, request.attempt, &request.scope).await?;
            let view = attempts::view(connection, row.ok_or(Fault::Restless)?).await?;
            Ok(AttemptConsumed::NotReady(Box::new(view)))
        }
    }
}
