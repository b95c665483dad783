//! The consume of whatever an attempt has: its newest artifact, in one step.

use pipeline::{
    ArtifactId, AttemptConsume, AttemptConsumed, AttemptStatus, AttemptView, ConsumeRequest,
    Consumed,
};
use uuid::Uuid;

use super::row;
use crate::backend::{Backend, Connection, Sql, query};
use crate::consumes;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::Keyring;
use crate::stored::ConsumeTarget;

/// How often the newest artifact is looked for before the answer is "not ready".
const TRIES: u32 = 3;

pub(super) async fn consume<B: Backend>(
    session: Session<B>,
    request: AttemptConsume,
) -> Result<AttemptConsumed, Fault> {
    let mut transaction = session.begin().await?;
    let keyring = &session.secrets.keyring;
    let consumed = take::<B>(&mut transaction, keyring, &request).await?;
    transaction.commit().await?;
    Ok(consumed)
}

/// Consumes within a transaction, like [`consumes::take()`]. A retry gets the same artifact
/// as the first request, even if a newer one has arrived; a new request gets the newest.
async fn take<B: Backend>(
    connection: &mut Connection<B>,
    keyring: &Keyring,
    request: &AttemptConsume,
) -> Result<AttemptConsumed, Fault> {
    let found = row::find_in::<B>(connection, request.attempt, &request.scope).await?;
    let Some(found) = found else {
        return Ok(AttemptConsumed::Unknown);
    };
    let attempt = found.id;
    if let Some(used) = used_key::<B>(connection, request).await? {
        return repeat::<B>(connection, keyring, request, attempt, used).await;
    }
    let mut view = row::view::<B>(connection, found).await?;
    // A newer one may come between the look and the consume.
    for _ in 0..TRIES {
        let artifact = match (&view.current, view.status()) {
            (
                Some(current),
                AttemptStatus::Ready | AttemptStatus::Superseded | AttemptStatus::Consumed,
            ) => current.id,
            _ => break,
        };
        let consumed = take_one::<B>(connection, keyring, request, artifact).await?;
        match consumed {
            Consumed::Superseded => {}
            // The first request with this key was committed while this one waited for it.
            Consumed::KeyReused => {
                return match used_key::<B>(connection, request).await? {
                    Some(used) => repeat::<B>(connection, keyring, request, attempt, used).await,
                    None => Err(Fault::Conflict),
                };
            }
            other => return answer::<B>(connection, request, artifact, other).await,
        }
        view = look_again::<B>(connection, request).await?;
    }
    Ok(AttemptConsumed::NotReady(Box::new(view)))
}

/// Answers a request whose key was used: with the same artifact, or a refusal if another attempt
/// used the key.
async fn repeat<B: Backend>(
    connection: &mut Connection<B>,
    keyring: &Keyring,
    request: &AttemptConsume,
    attempt: Uuid,
    (user, artifact): (Option<Uuid>, Uuid),
) -> Result<AttemptConsumed, Fault> {
    if user != Some(attempt) {
        return Ok(AttemptConsumed::KeyReused);
    }
    let artifact = ArtifactId::from_uuid(artifact);
    let consumed = take_one::<B>(connection, keyring, request, artifact).await?;
    answer::<B>(connection, request, artifact, consumed).await
}

async fn take_one<B: Backend>(
    connection: &mut Connection<B>,
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
    consumes::take::<B>(connection, keyring, &asked, ConsumeTarget::Attempt).await
}

async fn look_again<B: Backend>(
    connection: &mut Connection<B>,
    request: &AttemptConsume,
) -> Result<AttemptView, Fault> {
    let found = row::find_in::<B>(connection, request.attempt, &request.scope).await?;
    row::view::<B>(connection, found.ok_or(Fault::Conflict)?).await
}

/// The attempt and the artifact that the idempotency key was used for.
async fn used_key<B: Backend>(
    connection: &mut Connection<B>,
    request: &AttemptConsume,
) -> Result<Option<(Option<Uuid>, Uuid)>, Fault> {
    query::<B>(Sql::both(
        "SELECT a.attempt_id, a.id FROM consumes c JOIN artifacts a ON a.id = c.artifact_id
         WHERE c.consumer = $1 AND c.idempotency_key = $2",
    ))
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .fetch_optional(connection)
    .await
}

/// The result of the consume as the result of the attempt's consume.
async fn answer<B: Backend>(
    connection: &mut Connection<B>,
    request: &AttemptConsume,
    artifact: ArtifactId,
    consumed: Consumed,
) -> Result<AttemptConsumed, Fault> {
    let is_replay = matches!(consumed, Consumed::Replayed { .. });
    match consumed {
        Consumed::First {
            kind,
            value,
            sender_proof,
            at,
        }
        | Consumed::Replayed {
            kind,
            value,
            sender_proof,
            at,
        } => Ok(AttemptConsumed::Value {
            artifact,
            kind,
            value,
            sender_proof,
            at,
            is_replay,
        }),
        Consumed::Already { at } => Ok(AttemptConsumed::Already { at }),
        Consumed::KeyReused => Ok(AttemptConsumed::KeyReused),
        Consumed::Withheld(_)
        | Consumed::Superseded
        | Consumed::Expired { .. }
        | Consumed::Unknown => {
            let view = look_again::<B>(connection, request).await?;
            Ok(AttemptConsumed::NotReady(Box::new(view)))
        }
    }
}
