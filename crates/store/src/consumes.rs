//! The one consume of an artifact. The row is committed first and the value is
//! disclosed after, so that no crash in between leads to a second disclosure.

use pipeline::{ArtifactKind, ConsumeRequest, Consumed, Reason, SenderProof, Timestamp};
use secrecy::SecretString;

use crate::backend::{Backend, Connection, Sql, query};
use crate::column::Moment;
use crate::database::Session;
use crate::fault::Fault;
use crate::seal::{Keyring, Row};
use crate::stored::{ConsumeTarget, inbox, millis, verdict};

/// What an artifact is, as far as consuming it goes.
struct Wanted {
    kind: ArtifactKind,
    /// Nothing once it was wiped.
    value: Option<SecretString>,
    sender_proof: SenderProof,
    expires_at: Timestamp,
}

pub(crate) async fn consume<B: Backend>(
    session: Session<B>,
    request: ConsumeRequest,
) -> Result<Consumed, Fault> {
    let mut transaction = session.begin().await?;
    let keyring = &session.secrets.keyring;
    let consumed = take::<B>(&mut transaction, keyring, &request, ConsumeTarget::Artifact).await?;
    transaction.commit().await?;
    Ok(consumed)
}

/// Consumes within a transaction. What this returns is worth nothing, and must
/// go nowhere, until the caller has committed it.
pub(crate) async fn take<B: Backend>(
    connection: &mut Connection<B>,
    keyring: &Keyring,
    request: &ConsumeRequest,
    target: ConsumeTarget,
) -> Result<Consumed, Fault> {
    let wanted = match look_up::<B>(connection, keyring, request, target).await? {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(refused),
    };
    match insert::<B>(connection, request, target).await? {
        Some((at, true)) => {
            let value = wanted.value.ok_or(Fault::Damaged("value"))?;
            Ok(Consumed::First {
                kind: wanted.kind,
                value,
                sender_proof: wanted.sender_proof,
                at,
            })
        }
        Some((_, false)) => {
            undo::<B>(connection, request).await?;
            let at = wanted.expires_at;
            Ok(Consumed::Expired { at })
        }
        None => explain::<B>(connection, request, target, wanted).await,
    }
}

/// The artifact if it may be asked for at all, or the answer why not.
async fn look_up<B: Backend>(
    connection: &mut Connection<B>,
    keyring: &Keyring,
    request: &ConsumeRequest,
    target: ConsumeTarget,
) -> Result<Result<Wanted, Consumed>, Fault> {
    type Columns = (
        String,
        String,
        String,
        Option<String>,
        Option<String>,
        Option<Vec<u8>>,
        String,
        Moment,
        Option<String>,
        bool,
    );
    let row: Option<Columns> = query::<B>(Sql::both(
        "SELECT a.inbox, a.kind, a.verdict, a.reason, a.value_key, a.value, m.sender_proof,
                a.expires_at, i.owner, t.token IS NOT NULL
         FROM artifacts a JOIN inboxes i ON i.inbox = a.inbox
         JOIN messages m ON m.id = a.message_id
         LEFT JOIN attempts t ON t.id = a.attempt_id
         WHERE a.id = $1",
    ))
    .bind(request.artifact.as_uuid())
    .fetch_optional(connection)
    .await?;
    let Some((address, kind, word, reason, key, value, proof, expires_at, owner, is_token)) = row
    else {
        return Ok(Err(Consumed::Unknown));
    };
    if !request.scope.covers(&inbox(&address)?, owner.as_deref()) {
        return Ok(Err(Consumed::Unknown));
    }
    if let Some(reason) = verdict(&word, reason.as_deref())?.reason() {
        return Ok(Err(Consumed::Withheld(reason.clone())));
    }
    // An attempt that asked for one field of a link does not disclose the link.
    if is_token && target == ConsumeTarget::Artifact {
        return Ok(Err(Consumed::Withheld(Reason::new("token_only"))));
    }
    // A value that does not open must fail before the artifact is consumed.
    let row = Row::artifact(request.artifact, &address);
    let value = key.zip(value);
    let value = value.map(|(key, value)| keyring.open_text(row, &key, &value));
    Ok(Ok(Wanted {
        kind: ArtifactKind::from_word(&kind).ok_or(Fault::Damaged("kind"))?,
        value: value.transpose()?,
        sender_proof: SenderProof::from_stored(&proof),
        expires_at: expires_at.into(),
    }))
}

/// Consumes the artifact, unless it is consumed, expired or superseded, or the request's
/// key was used for another one. One statement checks all of this. Returns the time of
/// the consume, and whether the artifact is still unexpired after the insert: the insert
/// may wait for another consume that is then rolled back, and the `WHERE` clause looks at
/// the clock before that wait, `RETURNING` after it.
async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    request: &ConsumeRequest,
    target: ConsumeTarget,
) -> Result<Option<(Timestamp, bool)>, Fault> {
    let row: Option<(Moment, bool)> = query::<B>(Sql {
        postgres: "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
             SELECT id, $2, $3, clock_timestamp(), $4
             FROM artifacts
             WHERE id = $1 AND verdict = 'usable' AND expires_at > clock_timestamp()
               AND superseded_at IS NULL
             ON CONFLICT DO NOTHING
             RETURNING consumed_at,
                       (SELECT expires_at > clock_timestamp() FROM artifacts WHERE id = $1)",
        sqlite: "INSERT INTO consumes (artifact_id, consumer, idempotency_key, consumed_at, way)
             SELECT id, $2, $3, (SELECT now FROM clock), $4
             FROM artifacts
             WHERE id = $1 AND verdict = 'usable' AND expires_at > (SELECT now FROM clock)
               AND superseded_at IS NULL
             ON CONFLICT DO NOTHING
             RETURNING consumed_at, true",
    })
    .bind(request.artifact.as_uuid())
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .bind(target.as_str())
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(at, is_live)| (at.into(), is_live)))
}

/// Takes back an insert of this transaction.
async fn undo<B: Backend>(
    connection: &mut Connection<B>,
    request: &ConsumeRequest,
) -> Result<(), Fault> {
    query::<B>(Sql::both("DELETE FROM consumes WHERE artifact_id = $1"))
        .bind(request.artifact.as_uuid())
        .execute(connection)
        .await?;
    Ok(())
}

/// Why nothing was inserted, according to the committed rows. The value is disclosed again
/// only if a committed row names this same request.
async fn explain<B: Backend>(
    connection: &mut Connection<B>,
    request: &ConsumeRequest,
    target: ConsumeTarget,
    wanted: Wanted,
) -> Result<Consumed, Fault> {
    let row: Option<(Moment, bool, bool)> = query::<B>(Sql {
        postgres: "SELECT consumed_at, coalesce(consumer = $2 AND idempotency_key = $3 AND way <> $5, false),
                consumer = $2 AND idempotency_key = $3
                AND clock_timestamp() < consumed_at + $4 * interval '1 millisecond'
         FROM consumes WHERE artifact_id = $1",
        sqlite: "SELECT consumed_at, coalesce(consumer = $2 AND idempotency_key = $3 AND way <> $5, 0),
                    consumer = $2 AND idempotency_key = $3
                    AND (SELECT now FROM clock) < consumed_at + $4
             FROM consumes WHERE artifact_id = $1",
    })
    .bind(request.artifact.as_uuid())
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .bind(millis(request.replay_window))
    .bind(target.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    if let Some((consumed_at, is_other_target, is_replay)) = row {
        if is_other_target {
            return Ok(Consumed::KeyReused);
        }
        let at = consumed_at.into();
        return Ok(match wanted.value.filter(|_| is_replay) {
            Some(value) => Consumed::Replayed {
                kind: wanted.kind,
                value,
                sender_proof: wanted.sender_proof,
                at,
            },
            None => Consumed::Already { at },
        });
    }
    let (key_is_used, is_superseded, is_expired): (bool, bool, bool) = query::<B>(Sql {
        postgres:
            "SELECT EXISTS (SELECT FROM consumes WHERE consumer = $2 AND idempotency_key = $3),
                superseded_at IS NOT NULL, expires_at <= clock_timestamp()
         FROM artifacts WHERE id = $1",
        sqlite:
            "SELECT EXISTS (SELECT 1 FROM consumes WHERE consumer = $2 AND idempotency_key = $3),
                    superseded_at IS NOT NULL, expires_at <= (SELECT now FROM clock)
             FROM artifacts WHERE id = $1",
    })
    .bind(request.artifact.as_uuid())
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .fetch_one(connection)
    .await?;
    match (key_is_used, is_superseded, is_expired) {
        (true, ..) => Ok(Consumed::KeyReused),
        (false, true, _) => Ok(Consumed::Superseded),
        (false, false, true) => Ok(Consumed::Expired {
            at: wanted.expires_at,
        }),
        // The row that prevented the insert is gone; the caller may retry.
        (false, false, false) => Err(Fault::Conflict),
    }
}
