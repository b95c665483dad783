//! Decides which attempt gets an artifact. This happens when the artifact is inserted,
//! under the lock of its inbox's row. Attempts are opened under the same lock, so each
//! attempt was opened either before the artifact or after it. An artifact goes to at most
//! one attempt.
//!
//! The newest mail of an attempt counts, but a proven one before an unproven one.

use std::collections::HashMap;
use std::time::Duration;

use pipeline::{ArtifactKey, NewArtifact};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::callbacks;
use crate::column::{List, Moment};
use crate::fault::Fault;
use crate::misses;
use crate::stored::millis;

/// An attempt that an artifact matches and that was open when its mail was received.
pub(crate) struct WaitingAttempt {
    pub(crate) attempt: Uuid,
    /// The artifact's deduplication key if it is given to this attempt.
    pub(crate) key: ArtifactKey,
    /// When the attempt got the same value, if it has it already.
    has_value_since: Option<Moment>,
    row: WaitingRow,
}

row! {
    struct WaitingRow {
        id: Uuid,
        opened_at: Moment,
        /// The artifact that the attempt has now.
        current: Option<Uuid>,
        /// Whether the mail of `current` counts more than this mail: it is newer, or it is
        /// proven and this one is not.
        is_late: bool,
        /// Whether a resend was requested after the mail of `current` was received.
        asks_again: bool,
        has_callback: bool,
    }
}

/// The mail that an artifact came in.
pub(crate) struct Arrival<'m> {
    pub(crate) inbox: &'m str,
    pub(crate) received_at: Moment,
    /// Whether its sender is proven.
    pub(crate) is_proven: bool,
}

/// Where an artifact belongs.
pub(crate) enum Binding {
    /// To the inbox alone; no attempt waits for it.
    Inbox(ArtifactKey),
    /// To an attempt.
    Attempt(WaitingAttempt),
    /// To this attempt, which has it already.
    Known(WaitingAttempt),
}

impl WaitingAttempt {
    /// Whether a value that this attempt already has stays with it and is not given to
    /// `first`, the attempt that is served first. Usually the same mail was sent twice, or
    /// this attempt requested a resend. The value goes to `first` if `first` has no artifact
    /// and was opened after this attempt got the value: then a service that repeats its
    /// codes has answered `first`.
    fn keeps_value_from(&self, first: &Self) -> bool {
        self.has_value_since.is_some_and(|since| {
            first.row.current.is_some() || self.row.asks_again || first.row.opened_at <= since
        })
    }
}

/// Chooses the attempt that gets an artifact. For the others that have no artifact yet,
/// it is noted that a mail arrived and was given to another attempt.
pub(crate) async fn choose<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
    arrival: &Arrival<'_>,
) -> Result<Binding, Fault> {
    let waiting = waiting::<B>(connection, artifact, arrival).await?;
    let (binding, others) = choose_from(artifact.key, waiting);
    if !others.is_empty() {
        misses::note_given_away::<B>(connection, others).await?;
    }
    Ok(binding)
}

/// Chooses among the waiting attempts, which are in the order of [`waiting()`]: the first
/// one, unless another one has the value already and keeps it. Also returns the attempts
/// that were not chosen and have no artifact yet.
fn choose_from(inbox: ArtifactKey, mut waiting: Vec<WaitingAttempt>) -> (Binding, Vec<Uuid>) {
    let Some(first) = waiting.first() else {
        return (Binding::Inbox(inbox), Vec::new());
    };
    let keeper = waiting.iter().position(|it| it.keeps_value_from(first));
    let chosen = waiting.remove(keeper.unwrap_or(0));
    let others = waiting.iter().filter(|it| it.row.current.is_none());
    let others = others.map(|it| it.attempt).collect();
    let binding = if chosen.has_value_since.is_some() {
        Binding::Known(chosen)
    } else {
        Binding::Attempt(chosen)
    };
    (binding, others)
}

/// The attempts that an artifact matches and that were open when its mail was received,
/// in the order in which they are served: first those without an artifact, the oldest
/// first; then the others, the one that last asked for a mail first.
async fn waiting<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
    arrival: &Arrival<'_>,
) -> Result<Vec<WaitingAttempt>, Fault> {
    if artifact.matches.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<WaitingRow> = query::<B>(Sql {
        // The row locks put a concurrent finish of an attempt either before or after this.
        postgres: "SELECT t.id, t.opened_at, t.current, t.callback IS NOT NULL AS has_callback,
                CASE WHEN m.id IS NULL THEN false
                     WHEN (m.sender_proof IN ('provider', 'dkim')) = $3 THEN m.received_at > $2
                     ELSE NOT $3 AND coalesce(t.resent_at <= m.received_at OR $2 < t.resent_at, true)
                     END AS is_late,
                coalesce(t.resent_at > m.received_at, false) AS asks_again
             FROM attempts t
             LEFT JOIN artifacts a ON a.id = t.current
             LEFT JOIN messages m ON m.id = a.message_id
             WHERE t.inbox = $1 AND t.outcome IS NULL AND t.opened_at <= $2 AND t.deadline > $2
             ORDER BY t.current IS NOT NULL,
                      CASE WHEN t.current IS NULL THEN t.opened_at END,
                      greatest(t.opened_at, t.resent_at) DESC, t.id
             FOR NO KEY UPDATE OF t",
        sqlite: "SELECT t.id, t.opened_at, t.current, t.callback IS NOT NULL AS has_callback,
                CASE WHEN m.id IS NULL THEN false
                     WHEN (m.sender_proof IN ('provider', 'dkim')) = $3 THEN m.received_at > $2
                     ELSE NOT $3 AND coalesce(t.resent_at <= m.received_at OR $2 < t.resent_at, true)
                     END AS is_late,
                coalesce(t.resent_at > m.received_at, false) AS asks_again
             FROM attempts t
             LEFT JOIN artifacts a ON a.id = t.current
             LEFT JOIN messages m ON m.id = a.message_id
             WHERE t.inbox = $1 AND t.outcome IS NULL AND t.opened_at <= $2 AND t.deadline > $2
             ORDER BY t.current IS NOT NULL,
                      CASE WHEN t.current IS NULL THEN t.opened_at END,
                      max(t.opened_at, coalesce(t.resent_at, 0)) DESC, t.id",
    })
    .bind(arrival.inbox)
    .bind(arrival.received_at)
    .bind(arrival.is_proven)
    .fetch_all(connection)
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let known = known_values::<B>(connection, artifact).await?;
    let waiting = rows.into_iter().filter_map(|row| {
        let mut matches = artifact.matches.iter();
        let found = matches.find(|it| it.attempt.as_uuid() == row.id)?;
        Some(WaitingAttempt {
            attempt: row.id,
            key: found.key,
            has_value_since: known.get(found.key.as_bytes().as_slice()).copied(),
            row,
        })
    });
    Ok(waiting.collect())
}

/// When each matching attempt that already has the value got it, by the artifact's key.
async fn known_values<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
) -> Result<HashMap<Vec<u8>, Moment>, Fault> {
    let keys = artifact
        .matches
        .iter()
        .map(|found| found.key.as_bytes().to_vec());
    let rows: Vec<(Vec<u8>, Moment)> = query::<B>(Sql {
        postgres: "SELECT a.artifact_key, m.received_at
             FROM artifacts a JOIN messages m ON m.id = a.message_id
             WHERE a.artifact_key = ANY($1)",
        sqlite: "SELECT a.artifact_key, m.received_at
             FROM artifacts a JOIN messages m ON m.id = a.message_id
             WHERE a.artifact_key IN (SELECT unhex(value) FROM json_each($1))",
    })
    .bind(List(keys.collect()))
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Makes an inserted artifact the current one of its attempt, and the previous one
/// superseded. If the mail of the previous one counts more, the inserted one is superseded
/// instead: otherwise a stranger who knows the address could replace a proven value. After
/// a resend any newer mail counts, proven or not.
pub(crate) async fn settle<B: Backend>(
    connection: &mut Connection<B>,
    artifact: Uuid,
    bound: &WaitingAttempt,
) -> Result<(), Fault> {
    if bound.row.is_late {
        return supersede::<B>(connection, artifact).await;
    }
    if bound.row.has_callback {
        callbacks::call::<B>(connection, bound.attempt, artifact).await?;
    }
    replace::<B>(connection, bound, artifact).await
}

/// Makes an artifact the current one of its attempt; the previous one is superseded.
async fn replace<B: Backend>(
    connection: &mut Connection<B>,
    bound: &WaitingAttempt,
    artifact: Uuid,
) -> Result<(), Fault> {
    query::<B>(Sql::both("UPDATE attempts SET current = $2 WHERE id = $1"))
        .bind(bound.attempt)
        .bind(artifact)
        .execute(connection)
        .await?;
    match bound.row.current {
        Some(older) => supersede::<B>(connection, older).await,
        None => Ok(()),
    }
}

async fn supersede<B: Backend>(
    connection: &mut Connection<B>,
    artifact: Uuid,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE artifacts SET superseded_at = clock_timestamp() WHERE id = $1",
        sqlite: "UPDATE artifacts SET superseded_at = (SELECT now FROM clock) WHERE id = $1",
    })
    .bind(artifact)
    .execute(connection)
    .await?;
    Ok(())
}

/// Handles a mail with a value that the attempt already has. A resend from before the mail
/// counts as answered. If the value is neither consumed nor expired, it is the attempt's
/// current one again.
pub(crate) async fn renew<B: Backend>(
    connection: &mut Connection<B>,
    known: &WaitingAttempt,
    message: Uuid,
    received_at: Moment,
    lifetime: Duration,
) -> Result<(), Fault> {
    query::<B>(Sql::both(
        "UPDATE attempts SET resent_at = NULL WHERE id = $1 AND resent_at <= $2",
    ))
    .bind(known.attempt)
    .bind(received_at)
    .execute(connection)
    .await?;
    if known.row.is_late {
        return Ok(());
    }
    let renewed: Option<Uuid> = query::<B>(Sql {
        postgres: "UPDATE artifacts
             SET message_id = $2, superseded_at = NULL,
                 expires_at = greatest(expires_at, $3 + $4 * interval '1 millisecond')
             WHERE artifact_key = $1 AND expires_at > clock_timestamp()
               AND NOT EXISTS (SELECT 1 FROM consumes WHERE artifact_id = artifacts.id)
             RETURNING id",
        sqlite: "UPDATE artifacts
             SET message_id = $2, superseded_at = NULL, expires_at = max(expires_at, $3 + $4)
             WHERE artifact_key = $1 AND expires_at > (SELECT now FROM clock)
               AND NOT EXISTS (SELECT 1 FROM consumes WHERE artifact_id = artifacts.id)
             RETURNING id",
    })
    .bind(known.key.as_bytes().as_slice())
    .bind(message)
    .bind(received_at)
    .bind(millis(lifetime))
    .scalar(connection)
    .await?;
    match renewed.filter(|artifact| known.row.current != Some(*artifact)) {
        Some(artifact) => replace::<B>(connection, known, artifact).await,
        None => Ok(()),
    }
}
