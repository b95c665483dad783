//! Which attempt an artifact is for. This is decided when the artifact arrives, under
//! the lock of its inbox's row, under which attempts are opened as well. So every
//! attempt was there before the artifact or was not, and an artifact goes to one.
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

/// An attempt that an artifact suits and that waited when its mail was received.
pub(crate) struct WaitingAttempt {
    pub(crate) attempt: Uuid,
    /// What the artifact is deduplicated by if it becomes this attempt's.
    pub(crate) key: ArtifactKey,
    /// Since when the attempt has that very value, if it does.
    has_value_since: Option<Moment>,
    row: WaitingRow,
}

row! {
    struct WaitingRow {
        id: Uuid,
        opened_at: Moment,
        /// The artifact that the attempt had so far.
        current: Option<Uuid>,
        /// Whether that came in a mail that counts more than this one: in a newer mail,
        /// or in a proven one while this one is not.
        is_late: bool,
        /// Whether another mail was asked for since that came.
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
    /// Whether a value that this attempt has comes again for this attempt, and not for
    /// the first that waits: the same mail was sent twice, or another was asked for. But
    /// if the first has nothing and began to wait when this one had the value, a
    /// service that repeats its codes has sent the first one's.
    fn keeps_it_from(&self, first: &Self) -> bool {
        self.has_value_since.is_some_and(|since| {
            first.row.current.is_some() || self.row.asks_again || first.row.opened_at <= since
        })
    }
}

/// Finds out which attempt an artifact is for. The attempts that go on waiting with
/// nothing learn that a mail came and went to another.
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

/// Chooses among the attempts that wait, in their order: the one that has waited
/// longest with nothing; else the one that asked last, for its mail is newest. A value
/// that one of them has is that one's. Returns also those that go on waiting with
/// nothing.
fn choose_from(inbox: ArtifactKey, mut waiting: Vec<WaitingAttempt>) -> (Binding, Vec<Uuid>) {
    let Some(first) = waiting.first() else {
        return (Binding::Inbox(inbox), Vec::new());
    };
    let place = waiting.iter().position(|it| it.keeps_it_from(first));
    let chosen = waiting.remove(place.unwrap_or(0));
    let others = waiting.iter().filter(|it| it.row.current.is_none());
    let others = others.map(|it| it.attempt).collect();
    let binding = if chosen.has_value_since.is_some() {
        Binding::Known(chosen)
    } else {
        Binding::Attempt(chosen)
    };
    (binding, others)
}

/// The attempts that an artifact suits and that waited when its mail was received, in
/// the order in which they are served.
async fn waiting<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
    arrival: &Arrival<'_>,
) -> Result<Vec<WaitingAttempt>, Fault> {
    if artifact.matches.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<WaitingRow> = query::<B>(Sql {
        // Whoever finishes an attempt meanwhile has finished it before or after this.
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

/// Since when the value is there for each attempt that it suits and that has it, by key.
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

/// Makes an inserted artifact its attempt's newest, unless the mail of the one that is
/// counts more; the other of the two is superseded. A stranger who knows the address
/// could otherwise replace a proven value. After a resend the attempt waits anew, and
/// any newer mail counts.
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

/// Makes an artifact its attempt's newest; the one before is superseded.
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

/// A newer mail has brought what the attempt has already: what was asked for has come,
/// and if nobody has used the value it is the newest again.
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
