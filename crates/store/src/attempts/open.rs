//! Opening an attempt. Its opener may give it a reference, a name of the opener's own:
//! the same reference again stands for the same attempt. If it has a heartbeat, that
//! also says that the opener is still there.

use pipeline::{AttemptId, IdempotencyKey, NewAttempt, Opened};

use super::earlier;
use super::row::{find, view};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{inbox, joined, millis};
use crate::{inboxes, positions};

/// Opens an attempt under the lock of its inbox, so that whatever arrives there
/// is written before it or after it. The reference's unique key decides whether
/// it is new.
pub(super) async fn open<B: Backend>(
    session: Session<B>,
    attempt: NewAttempt,
) -> Result<Opened, Fault> {
    let mut transaction = session.begin().await?;
    let made = attempt.id.to_string();
    match requests::note::<B>(&mut transaction, attempt.asked.as_ref(), &made).await? {
        Noted::New => {}
        Noted::Before(made) => {
            let id = made.parse().or(Err(Fault::Damaged("made")))?;
            renew::<B>(&mut transaction, &attempt, id).await?;
            let opened = known::<B>(&mut transaction, id).await?;
            transaction.commit().await?;
            return Ok(opened);
        }
        Noted::Reused => {
            transaction.rollback().await?;
            return Ok(Opened::KeyReused);
        }
    }
    let is_entered = enter_inbox::<B>(&mut transaction, &attempt).await?;
    if is_entered && insert::<B>(&mut transaction, &attempt).await? {
        if attempt.takes_earlier {
            earlier::adopt::<B>(&mut transaction, &attempt).await?;
        }
        let row = find::<B>(&mut transaction, attempt.id).await?;
        let view = view::<B>(&mut transaction, row.ok_or(Fault::Conflict)?).await?;
        transaction.commit().await?;
        return Ok(Opened::New(view));
    }
    // A minted address is rolled back with the attempt that it was minted for.
    transaction.rollback().await?;
    // A retry finds its attempt also when the inbox has ended since.
    let mut transaction = session.begin().await?;
    let known = known_by_reference::<B>(&mut transaction, &attempt).await?;
    transaction.commit().await?;
    match known {
        Some(opened) => Ok(opened),
        None if is_entered => Err(Fault::Conflict),
        None => Ok(Opened::InboxUnknown),
    }
}

/// Locks the inbox, inserting it where the opener may; false when the opener has no
/// such inbox, or it had expired when the lock was obtained.
async fn enter_inbox<B: Backend>(
    connection: &mut Connection<B>,
    attempt: &NewAttempt,
) -> Result<bool, Fault> {
    let name = attempt.inbox.as_str();
    if attempt.is_minted {
        return mint_inbox::<B>(connection, attempt).await;
    }
    let row = inboxes::find_locked::<B>(connection, name).await?;
    let owner = row.as_ref().and_then(|row| row.owner.as_deref());
    let is_expired = row.as_ref().is_some_and(|row| row.is_expired);
    if is_expired || !attempt.scope.covers(&attempt.inbox, owner) {
        return Ok(false);
    }
    if row.is_none() {
        positions::lock::<B>(connection, [name].into()).await?;
    }
    Ok(true)
}

/// Inserts the inbox of an attempt that asked for a new address.
async fn mint_inbox<B: Backend>(
    connection: &mut Connection<B>,
    attempt: &NewAttempt,
) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "INSERT INTO inboxes
                       (inbox, owner, senders, links, needs_proof, is_passing, created_at)
                   VALUES ($1, $2, $3, $4, $5, true, clock_timestamp())
                   ON CONFLICT (inbox) DO NOTHING",
        sqlite: "INSERT INTO inboxes
                     (inbox, owner, senders, links, needs_proof, is_passing, created_at)
                 SELECT $1, $2, $3, $4, $5, true, now FROM clock WHERE true
                 ON CONFLICT (inbox) DO NOTHING",
    })
    .bind(attempt.inbox.as_str())
    .bind(attempt.owner.as_str())
    // What the rules of the attempt withhold, the feed of its inbox withholds too.
    .bind(joined(&attempt.rules.senders))
    .bind(attempt.rules.links.as_deref().map(joined))
    .bind(attempt.rules.needs_proof)
    .execute(connection)
    .await?;
    Ok(written == 1)
}

/// Inserts the attempt. It is opened at the time of this statement: mail that arrived while
/// the transaction waited for the inbox's lock is not for it.
async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    attempt: &NewAttempt,
) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "INSERT INTO attempts
                       (id, owner, reference, request, inbox, wanted, senders, links, token,
                        callback, opened_at, deadline, resends, needs_proof, expected)
                   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, moment,
                          moment + $11 * interval '1 millisecond', $12, $13, $14
                   FROM clock_timestamp() AS moment
                   ON CONFLICT (owner, reference) DO NOTHING",
        sqlite: "INSERT INTO attempts
                     (id, owner, reference, request, inbox, wanted, senders, links, token,
                      callback, opened_at, deadline, resends, needs_proof, expected)
                 SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, now + $11, $12, $13, $14
                 FROM clock WHERE true
                 ON CONFLICT (owner, reference) DO NOTHING",
    })
    .bind(attempt.id.as_uuid())
    .bind(attempt.owner.as_str())
    .bind(attempt.reference.as_ref().map(IdempotencyKey::as_str))
    .bind(attempt.request.as_slice())
    .bind(attempt.inbox.as_str())
    .bind(attempt.rules.wanted.as_str())
    .bind(joined(&attempt.rules.senders))
    .bind(attempt.rules.links.as_deref().map(joined))
    .bind(attempt.rules.token.as_deref())
    .bind(attempt.callback.as_deref())
    .bind(millis(
        attempt
            .timeout
            .min(attempt.heartbeat.unwrap_or(attempt.timeout)),
    ))
    .bind(i32::try_from(attempt.resends).unwrap_or(i32::MAX))
    .bind(attempt.rules.needs_proof)
    .bind(attempt.rules.expected.map(|form| form.to_string()))
    .execute(connection)
    .await?;
    Ok(written == 1)
}

/// Does what a repeated request asks for: the attempt looks at earlier mail again, and stays
/// open. The look comes first, because it locks the inbox, and mail locks the inbox before
/// the attempt, too.
async fn renew<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
    attempt: AttemptId,
) -> Result<(), Fault> {
    if asked.takes_earlier {
        earlier::adopt_later::<B>(connection, asked, attempt).await?;
    }
    extend::<B>(connection, asked, attempt).await
}

/// Extends an attempt with a heartbeat, at most to its deadline. An attempt that has ended
/// is not opened again: it must not get mail that arrived after its end.
async fn extend<B: Backend>(
    connection: &mut Connection<B>,
    asked: &NewAttempt,
    attempt: AttemptId,
) -> Result<(), Fault> {
    let Some(heartbeat) = asked.heartbeat else {
        return Ok(());
    };
    query::<B>(Sql {
        postgres: "UPDATE attempts
                   SET deadline = greatest(deadline, least(
                           opened_at + $2 * interval '1 millisecond',
                           clock_timestamp() + $3 * interval '1 millisecond'))
                   WHERE id = $1 AND outcome IS NULL AND deadline > clock_timestamp()",
        sqlite: "UPDATE attempts
                 SET deadline = max(deadline, min(
                         opened_at + $2, (SELECT now FROM clock) + $3))
                 WHERE id = $1 AND outcome IS NULL AND deadline > (SELECT now FROM clock)",
    })
    .bind(attempt.as_uuid())
    .bind(millis(asked.timeout))
    .bind(millis(heartbeat))
    .execute(connection)
    .await?;
    Ok(())
}

/// The attempt that the same request has opened.
async fn known<B: Backend>(
    connection: &mut Connection<B>,
    attempt: AttemptId,
) -> Result<Opened, Fault> {
    let row = find::<B>(connection, attempt).await?;
    let view = view::<B>(connection, row.ok_or(Fault::Conflict)?).await?;
    Ok(Opened::Known(view))
}

/// The attempt that has the reference already, if one has. Its inbox may have
/// ended since, but it must still be one of the opener's.
async fn known_by_reference<B: Backend>(
    connection: &mut Connection<B>,
    attempt: &NewAttempt,
) -> Result<Option<Opened>, Fault> {
    let id = query::<B>(Sql::both(
        "SELECT id FROM attempts WHERE owner = $1 AND reference = $2",
    ))
    .bind(attempt.owner.as_str())
    .bind(attempt.reference.as_ref().map(IdempotencyKey::as_str))
    .scalar(connection)
    .await?;
    let Some(id) = id else {
        return Ok(None);
    };
    let id = AttemptId::from_uuid(id);
    let row = find::<B>(connection, id).await?;
    let row = row.ok_or(Fault::Conflict)?;
    if row.request != attempt.request {
        return Ok(Some(Opened::ReferenceReused));
    }
    let owner = row.inbox_owner.as_deref();
    if !attempt.scope.covers(&inbox(&row.inbox)?, owner) {
        return Ok(Some(Opened::InboxUnknown));
    }
    // A retry of this request finds the attempt by the request's key as well.
    let noted = requests::note::<B>(connection, attempt.asked.as_ref(), &id.to_string()).await?;
    if let Noted::Reused = noted {
        return Ok(Some(Opened::KeyReused));
    }
    renew::<B>(connection, attempt, id).await?;
    Ok(Some(known::<B>(connection, id).await?))
}
