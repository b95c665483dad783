//! Mail from before an attempt, for an attempt that asks for it. The attempt is opened under
//! the lock of its inbox, so no other attempt can get the same artifact.

use pipeline::{ArtifactId, ArtifactView, AttemptId, Earlier, Miss, NewAttempt};
use uuid::Uuid;

use super::row::find;
use crate::backend::{Backend, Connection, Sql, query};
use crate::callbacks;
use crate::column::List;
use crate::fault::Fault;
use crate::{feed, inboxes, misses};

/// How many of the newest items of an inbox are looked at.
const LOOKED_AT: i64 = 200;

/// Gives a new attempt the newest earlier value that fits, or notes why there is none.
pub(super) async fn adopt<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
) -> Result<(), Fault> {
    match choose::<B>(connection, asked).await? {
        Earlier::Value(artifact) => bind::<B>(connection, asked, asked.id, artifact).await,
        Earlier::Miss { kind, reason, seen } => {
            let attempt = asked.id;
            let miss = Miss {
                attempt,
                kind,
                reason,
                seen,
            };
            misses::note_earlier::<B>(connection, &miss).await
        }
        Earlier::Nothing => Ok(()),
    }
}

/// Looks again when the request for an attempt is repeated. Mail that was received before
/// the attempt may have been written after it was opened.
pub(super) async fn adopt_later<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
    attempt: AttemptId,
) -> Result<(), Fault> {
    let inbox = inboxes::find_locked::<B>(connection, asked.inbox.as_str()).await?;
    let owner = inbox.as_ref().and_then(|row| row.owner.as_deref());
    let is_expired = inbox.as_ref().is_none_or(|row| row.is_expired);
    // The caller may have lost the inbox since it asked for the first time.
    if is_expired || !asked.scope.covers(&asked.inbox, owner) {
        return Ok(());
    }
    let row = find::<B>(connection, attempt).await?;
    if !row.is_some_and(|row| row.is_waiting()) {
        return Ok(());
    }
    match choose::<B>(connection, asked).await? {
        Earlier::Value(artifact) => bind::<B>(connection, asked, attempt, artifact).await,
        Earlier::Miss { .. } | Earlier::Nothing => Ok(()),
    }
}

async fn choose<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
) -> Result<Earlier, Fault> {
    let inbox = asked.inbox.as_str();
    let items = feed::newest::<B>(connection, inbox, LOOKED_AT).await?;
    let items: Result<Vec<_>, Fault> = items.into_iter().map(TryInto::try_into).collect();
    let items = without_ended_attempts::<B>(connection, asked, items?).await?;
    Ok(Earlier::choose(&asked.rules, items))
}

/// The items, without the attempts of the same caller that have ended. A value that an
/// attempt did not consume before its end is free again, unless rules of that attempt
/// itself decided about it: those of the inbox might withhold it.
async fn without_ended_attempts<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
    mut items: Vec<ArtifactView>,
) -> Result<Vec<ArtifactView>, Fault> {
    let owners = items.iter().filter_map(|item| item.attempt);
    let owners: Vec<Uuid> = owners.map(|owner| owner.as_uuid()).collect();
    if owners.is_empty() {
        return Ok(items);
    }
    let ended: Vec<(Uuid,)> = query::<B>(Sql {
        postgres: "SELECT id FROM attempts
             WHERE id = ANY($1) AND owner = $2
               AND token IS NULL AND links IS NULL AND expected IS NULL
               AND (outcome IS NOT NULL OR deadline <= clock_timestamp())",
        sqlite: "SELECT id FROM attempts
             WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND owner = $2
               AND token IS NULL AND links IS NULL AND expected IS NULL
               AND (outcome IS NOT NULL OR deadline <= (SELECT now FROM clock))",
    })
    .bind(List(owners))
    .bind(asked.owner.as_str())
    .fetch_all(connection)
    .await?;
    for item in &mut items {
        let has_ended = |owner: AttemptId| ended.contains(&(owner.as_uuid(),));
        item.attempt = item.attempt.filter(|owner| !has_ended(*owner));
    }
    Ok(items)
}

/// Makes an artifact the current one of the attempt, and of no other.
async fn bind<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
    attempt: AttemptId,
    artifact: ArtifactId,
) -> Result<(), Fault> {
    for statement in [
        "UPDATE attempts SET current = NULL
         WHERE id = (SELECT attempt_id FROM artifacts WHERE id = $2) AND id <> $1 AND current = $2",
        "UPDATE artifacts SET attempt_id = $1 WHERE id = $2",
        "UPDATE attempts SET current = $2 WHERE id = $1",
    ] {
        query::<B>(Sql::both(statement))
            .bind(attempt.as_uuid())
            .bind(artifact.as_uuid())
            .execute(connection)
            .await?;
    }
    if asked.callback.is_some() {
        callbacks::call::<B>(connection, attempt.as_uuid(), artifact.as_uuid()).await?;
    }
    Ok(())
}
