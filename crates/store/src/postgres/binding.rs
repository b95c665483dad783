//! Which attempt an artifact is for. Decided when it arrives, under the lock of
//! its inbox's row, under which attempts are opened as well: so every attempt
//! was there before the artifact or was not, and an artifact goes to one.

use std::time::Duration;

use pipeline::{ArtifactKey, GIVEN_TO_ANOTHER_ATTEMPT, Miss, MissKind, NewArtifact, Timestamp};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::callbacks;
use super::moment::timestamp;
use crate::binding::{self, Binding, Candidate};
use crate::fault::Fault;
use crate::stored::millis;

/// Finds out whose an artifact is, and tells those who wait on with nothing that a
/// mail has come.
pub(super) async fn choose(
    connection: &mut PgConnection,
    inbox: &str,
    artifact: &NewArtifact,
    received_at: OffsetDateTime,
) -> Result<Binding, Fault> {
    let line = waiting(connection, inbox, artifact, received_at).await?;
    let (binding, left) = binding::choose(artifact.key, line);
    for attempt in left {
        note_given_away(connection, attempt).await?;
    }
    Ok(binding)
}

/// The attempts that an artifact suits and that waited when its mail was received, in
/// the order of the line.
async fn waiting(
    connection: &mut PgConnection,
    inbox: &str,
    artifact: &NewArtifact,
    received_at: OffsetDateTime,
) -> Result<Vec<Candidate>, Fault> {
    let mut line = Vec::new();
    if artifact.matches.is_empty() {
        return Ok(line);
    }
    let rows: Vec<(Uuid, OffsetDateTime, Option<Uuid>, bool, bool)> = sqlx::query_as(
        "SELECT t.id, t.opened_at, t.current, coalesce(m.received_at > $2, false),
                coalesce(t.resent_at > m.received_at, false)
         FROM attempts t
         LEFT JOIN artifacts a ON a.id = t.current
         LEFT JOIN messages m ON m.id = a.message_id
         WHERE t.inbox = $1 AND t.outcome IS NULL AND t.opened_at <= $2 AND t.deadline > $2
         ORDER BY t.current IS NOT NULL,
                  CASE WHEN t.current IS NULL THEN t.opened_at END,
                  greatest(t.opened_at, t.resent_at) DESC, t.id
         -- Whoever finishes one meanwhile has finished it before or after this.
         FOR NO KEY UPDATE OF t",
    )
    .bind(inbox)
    .bind(received_at)
    .fetch_all(&mut *connection)
    .await?;
    for (attempt, opened_at, current, is_late, asks_again) in rows {
        let mut matches = artifact.matches.iter();
        let Some(found) = matches.find(|it| it.attempt.as_uuid() == attempt) else {
            continue;
        };
        line.push(Candidate {
            attempt,
            key: found.key,
            opened_at: timestamp(opened_at),
            has_it_since: known_since(connection, &found.key).await?,
            current,
            is_late,
            asks_again,
        });
    }
    Ok(line)
}

/// Since when an artifact with this key is there.
async fn known_since(
    connection: &mut PgConnection,
    key: &ArtifactKey,
) -> Result<Option<Timestamp>, Fault> {
    let since = sqlx::query_scalar(
        "SELECT m.received_at FROM artifacts a JOIN messages m ON m.id = a.message_id
         WHERE a.artifact_key = $1",
    )
    .bind(key.as_bytes().as_slice())
    .fetch_optional(connection)
    .await?;
    Ok(since.map(timestamp))
}

/// Makes an inserted artifact its attempt's newest, unless it came in an older
/// mail than the one that is; the older of the two is superseded.
pub(super) async fn settle(
    connection: &mut PgConnection,
    artifact: Uuid,
    bound: &Candidate,
) -> Result<(), Fault> {
    if bound.is_late {
        return supersede(connection, artifact).await;
    }
    callbacks::call(connection, bound.attempt, artifact).await?;
    replace(connection, bound, artifact).await
}

/// Makes an artifact its attempt's newest; the one before is superseded.
async fn replace(
    connection: &mut PgConnection,
    bound: &Candidate,
    artifact: Uuid,
) -> Result<(), Fault> {
    sqlx::query("UPDATE attempts SET current = $2 WHERE id = $1")
        .bind(bound.attempt)
        .bind(artifact)
        .execute(&mut *connection)
        .await?;
    match bound.current {
        Some(older) => supersede(connection, older).await,
        None => Ok(()),
    }
}

async fn supersede(connection: &mut PgConnection, artifact: Uuid) -> Result<(), Fault> {
    sqlx::query("UPDATE artifacts SET superseded_at = now() WHERE id = $1")
        .bind(artifact)
        .execute(connection)
        .await?;
    Ok(())
}

/// A newer mail has brought what the attempt has already: what was asked for has come,
/// and if nobody has used the value it is the newest again.
pub(super) async fn renew(
    connection: &mut PgConnection,
    known: &Candidate,
    message: Uuid,
    received_at: OffsetDateTime,
    lifetime: Duration,
) -> Result<(), Fault> {
    sqlx::query("UPDATE attempts SET resent_at = NULL WHERE id = $1 AND resent_at <= $2")
        .bind(known.attempt)
        .bind(received_at)
        .execute(&mut *connection)
        .await?;
    if known.is_late {
        return Ok(());
    }
    let renewed: Option<Uuid> = sqlx::query_scalar(
        "UPDATE artifacts
         SET message_id = $2, superseded_at = NULL,
             expires_at = greatest(expires_at, $3 + $4 * interval '1 millisecond')
         WHERE artifact_key = $1 AND expires_at > clock_timestamp()
           AND NOT EXISTS (SELECT FROM consumes WHERE artifact_id = artifacts.id)
         RETURNING id",
    )
    .bind(known.key.as_bytes().as_slice())
    .bind(message)
    .bind(received_at)
    .bind(millis(lifetime))
    .fetch_optional(&mut *connection)
    .await?;
    match renewed.filter(|artifact| known.current != Some(*artifact)) {
        Some(artifact) => replace(connection, known, artifact).await,
        None => Ok(()),
    }
}

/// Notes for an attempt what a mail that was of no use to it was like.
pub(super) async fn note_miss(
    connection: &mut PgConnection,
    miss: &Miss,
    received_at: OffsetDateTime,
) -> Result<(), Fault> {
    sqlx::query(
        "UPDATE attempts SET miss = $2, miss_reason = $3
         WHERE id = $1 AND outcome IS NULL AND opened_at <= $4 AND deadline > $4",
    )
    .bind(miss.attempt.as_uuid())
    .bind(miss.kind.as_str())
    .bind(miss.reason.as_str())
    .bind(received_at)
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes for an attempt that a mail which would have done for it went to another.
/// Whatever else is known of its mail says more.
async fn note_given_away(connection: &mut PgConnection, attempt: Uuid) -> Result<(), Fault> {
    sqlx::query("UPDATE attempts SET miss = $2, miss_reason = $3 WHERE id = $1 AND miss IS NULL")
        .bind(attempt)
        .bind(MissKind::NoArtifact.as_str())
        .bind(GIVEN_TO_ANOTHER_ATTEMPT.as_str())
        .execute(connection)
        .await?;
    Ok(())
}
