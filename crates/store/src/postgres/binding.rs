//! Which attempt an artifact is for. Decided when it arrives, under the lock of
//! its inbox's row, under which attempts are opened as well: so every attempt
//! was there before the artifact or was not, and an artifact goes to one.

use pipeline::{ArtifactKey, Miss, NewArtifact};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use super::callbacks;
use crate::fault::Fault;

/// Where an artifact belongs.
pub(super) enum Binding {
    /// To the inbox alone; nobody waits for it.
    Inbox(ArtifactKey),
    /// To an attempt.
    Attempt(Bound),
    /// It is known: the attempt it would be for has the same value.
    Known,
}

/// An artifact's attempt, and what it means for the one the attempt had.
pub(super) struct Bound {
    pub(super) attempt: Uuid,
    pub(super) key: ArtifactKey,
    /// What the attempt had so far.
    pub(super) current: Option<Uuid>,
    /// Whether that came in a newer mail than this one.
    pub(super) is_late: bool,
}

/// Chooses among the attempts that an artifact suits and that waited when its
/// mail was received: who has the same value already; else who has waited
/// longest with nothing; else who asked last, for that one's mail is newest.
pub(super) async fn choose(
    connection: &mut PgConnection,
    inbox: &str,
    artifact: &NewArtifact,
    received_at: OffsetDateTime,
) -> Result<Binding, Fault> {
    if artifact.suits.is_empty() {
        return Ok(Binding::Inbox(artifact.key));
    }
    let rows: Vec<(Uuid, Option<Uuid>, bool)> = sqlx::query_as(
        "SELECT t.id, t.current, coalesce(m.received_at > $2, false)
         FROM attempts t
         LEFT JOIN artifacts a ON a.id = t.current
         LEFT JOIN messages m ON m.id = a.message_id
         WHERE t.inbox = $1 AND t.outcome IS NULL AND t.opened_at <= $2 AND t.deadline > $2
         ORDER BY t.current IS NOT NULL,
                  CASE WHEN t.current IS NULL THEN t.opened_at END,
                  greatest(t.opened_at, t.resent_at) DESC, t.id",
    )
    .bind(inbox)
    .bind(received_at)
    .fetch_all(&mut *connection)
    .await?;
    let mut chosen = None;
    for (attempt, current, is_late) in rows {
        let suit = artifact
            .suits
            .iter()
            .find(|suit| suit.attempt.as_uuid() == attempt);
        let Some(key) = suit.map(|suit| suit.key) else {
            continue;
        };
        if is_known(connection, &key).await? {
            return Ok(Binding::Known);
        }
        chosen.get_or_insert(Bound {
            attempt,
            key,
            current,
            is_late,
        });
    }
    Ok(chosen.map_or(Binding::Inbox(artifact.key), Binding::Attempt))
}

async fn is_known(connection: &mut PgConnection, key: &ArtifactKey) -> Result<bool, Fault> {
    let is_known =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM artifacts WHERE artifact_key = $1)")
            .bind(key.as_bytes().as_slice())
            .fetch_one(connection)
            .await?;
    Ok(is_known)
}

/// Makes an inserted artifact its attempt's newest, unless it came in an older
/// mail than the one that is; the older of the two is superseded.
pub(super) async fn settle(
    connection: &mut PgConnection,
    artifact: Uuid,
    bound: &Bound,
) -> Result<(), Fault> {
    let older = if bound.is_late {
        Some(artifact)
    } else {
        sqlx::query("UPDATE attempts SET current = $2 WHERE id = $1")
            .bind(bound.attempt)
            .bind(artifact)
            .execute(&mut *connection)
            .await?;
        callbacks::call(connection, bound.attempt, artifact).await?;
        bound.current
    };
    if let Some(older) = older {
        sqlx::query("UPDATE artifacts SET superseded_at = now() WHERE id = $1")
            .bind(older)
            .execute(connection)
            .await?;
    }
    Ok(())
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
