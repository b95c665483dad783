//! The third layer of deduplication: artifacts, and their places in the inbox. A place
//! is taken under the lock of the inbox's row and only by a row that was inserted, so a
//! reader who has seen place 7 will never see a 6 appear behind it.

use pipeline::{Finished, NewArtifact, NewMessage, Reason};

use crate::backend::{Backend, Connection, Sql, query};
use crate::binding::{self, Arrival, Binding};
use crate::column::Moment;
use crate::fault::Fault;
use crate::misses;
use crate::seal::{Sealed, SealedMessage};
use crate::stored::millis;

/// Locks the inbox's row until the transaction ends, inserting it where there is none,
/// and returns the last place that is taken.
pub(crate) async fn lock_inbox<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
) -> Result<i64, Fault> {
    if let Some(last_seq) = lock_known::<B>(connection, inbox).await? {
        return Ok(last_seq);
    }
    query::<B>(Sql {
        postgres: "INSERT INTO inboxes (inbox, is_passing, created_at)
             VALUES ($1, true, clock_timestamp())
             ON CONFLICT (inbox) DO NOTHING",
        sqlite: "INSERT INTO inboxes (inbox, is_passing, created_at)
             SELECT $1, true, now FROM clock WHERE true
             ON CONFLICT (inbox) DO NOTHING",
    })
    .bind(inbox)
    .execute(connection)
    .await?;
    let last_seq = lock_known::<B>(connection, inbox).await?;
    last_seq.ok_or(Fault::Conflict)
}

async fn lock_known<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
) -> Result<Option<i64>, Fault> {
    query::<B>(Sql {
        postgres: "SELECT last_seq FROM inboxes WHERE inbox = $1 FOR UPDATE",
        // The transaction has the lock of the one writer already.
        sqlite: "SELECT last_seq FROM inboxes WHERE inbox = $1",
    })
    .bind(inbox)
    .scalar(connection)
    .await
}

/// Inserts what a message held behind the place `seq`. Returns the last place now, and
/// whether watchers have to look again.
pub(crate) async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    message: &SealedMessage,
    received_at: Moment,
    mut seq: i64,
    finished: &mut Finished,
) -> Result<(i64, bool), Fault> {
    let SealedMessage { message, values } = message;
    let arrival = Arrival {
        inbox: message.inbox.as_str(),
        received_at,
        is_proven: message.sender.proof.holds(),
    };
    let mut wakes = !message.misses.is_empty();
    for (artifact, value) in message.artifacts.iter().zip(values) {
        let binding = binding::choose::<B>(connection, artifact, &arrival).await?;
        let place = Place {
            message,
            value: value.as_ref(),
            received_at,
            seq: seq + 1,
        };
        let is_new = insert_one::<B>(connection, artifact, &place, &binding).await?;
        wakes |= is_new || matches!(binding, Binding::Known(_));
        if is_new {
            seq += 1;
            finished.artifacts += 1;
        } else {
            finished.duplicate_artifacts += 1;
        }
    }
    for miss in &message.misses {
        misses::note::<B>(connection, miss, received_at).await?;
    }
    Ok((seq, wakes))
}

/// Where an artifact would stand.
struct Place<'m> {
    message: &'m NewMessage,
    value: Option<&'m Sealed>,
    received_at: Moment,
    seq: i64,
}

/// Inserts an artifact unless its key is known; returns whether it did.
async fn insert_one<B: Backend>(
    connection: &mut Connection<B>,
    artifact: &NewArtifact,
    place: &Place<'_>,
    binding: &Binding,
) -> Result<bool, Fault> {
    let (key, attempt) = match binding {
        Binding::Known(known) => {
            let (message, at) = (place.message.id.as_uuid(), place.received_at);
            binding::renew::<B>(connection, known, message, at, artifact.lifetime).await?;
            return Ok(false);
        }
        Binding::Inbox(key) => (key, None),
        Binding::Attempt(bound) => (&bound.key, Some(bound.attempt)),
    };
    let written = query::<B>(Sql {
        postgres: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at, attempt_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                     $14 + $15 * interval '1 millisecond', $16)
             ON CONFLICT (artifact_key) DO NOTHING",
        sqlite: "INSERT INTO artifacts
                 (id, message_id, inbox, seq, artifact_key, kind, verdict, reason, rule,
                  confidence, host, value, value_key, expires_at, attempt_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 + $15, $16)
             ON CONFLICT (artifact_key) DO NOTHING",
    })
    .bind(artifact.id.as_uuid())
    .bind(place.message.id.as_uuid())
    .bind(place.message.inbox.as_str())
    .bind(place.seq)
    .bind(key.as_bytes().as_slice())
    .bind(artifact.kind.as_str())
    .bind(artifact.verdict.as_str())
    .bind(artifact.verdict.reason().map(Reason::as_str))
    .bind(artifact.rule.as_str())
    .bind(i16::from(artifact.confidence))
    .bind(artifact.host.as_deref())
    .bind(place.value.map(|sealed| sealed.bytes.as_slice()))
    .bind(place.value.map(|sealed| sealed.key.as_str()))
    .bind(place.received_at)
    .bind(millis(artifact.lifetime))
    .bind(attempt)
    .execute(connection)
    .await?;
    let is_new = written == 1;
    if let (true, Binding::Attempt(bound)) = (is_new, binding) {
        binding::settle::<B>(connection, artifact.id.as_uuid(), bound).await?;
    }
    Ok(is_new)
}

/// Notes the last place taken, and notifies the inbox's watchers in all processes when
/// the transaction commits.
pub(crate) async fn advance<B: Backend>(
    connection: &mut Connection<B>,
    inbox: &str,
    seq: i64,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE inboxes SET last_seq = $2 WHERE inbox = $1
             RETURNING pg_notify('maillatch_arrivals', inbox)",
        sqlite: "UPDATE inboxes SET last_seq = $2 WHERE inbox = $1",
    })
    .bind(inbox)
    .bind(seq)
    .execute(connection)
    .await?;
    Ok(())
}
