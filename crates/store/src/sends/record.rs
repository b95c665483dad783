//! Recording a send: its intent's unique key decides whether it is new.

use pipeline::{NewSend, SendId, SendKind, SendRecorded};
use uuid::Uuid;

use super::event::{announce_new, first_event};
use super::row::{SendRow, find, lock_intent};
use super::{caps, content};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::seal::Sealed;
use crate::stored::millis;

pub(super) async fn record<B: Backend>(
    session: Session<B>,
    send: NewSend,
) -> Result<SendRecorded, Fault> {
    let row = (send.id, send.sender.as_str());
    let sealed = content::seal(&session.secrets.keyring, row, &send.to, &send.payload)?;
    let mut transaction = session.begin().await?;
    let recorded = record_in::<B>(&mut transaction, &send, sealed).await?;
    if let SendRecorded::New(_) = recorded {
        transaction.commit().await?;
        announce_new(&session, &send);
    } else {
        transaction.rollback().await?;
    }
    Ok(recorded)
}

async fn record_in<B: Backend>(
    connection: &mut Connection<B>,
    send: &NewSend,
    sealed: Sealed,
) -> Result<SendRecorded, Fault> {
    let made = send.id.to_string();
    match requests::note::<B>(connection, send.asked.as_ref(), &made).await? {
        Noted::New => {}
        Noted::Reused => return Ok(SendRecorded::KeyReused),
        Noted::Before(made) => {
            let made: SendId = made.parse().or(Err(Fault::Damaged("made")))?;
            let row = find::<B>(connection, made.as_uuid()).await?;
            // The request is kept shorter than the send.
            return Ok(SendRecorded::Again(row.ok_or(Fault::Conflict)?.view()?));
        }
    }
    if !insert::<B>(connection, send, sealed, None).await? {
        let row = lock_intent::<B>(connection, send.sender.as_str(), &send.key).await?;
        return known(row.ok_or(Fault::Conflict)?, send);
    }
    if let Some((what, left)) = caps::count::<B>(connection, &send.caps).await? {
        return Ok(SendRecorded::Capped(what, left));
    }
    let event = first_event(send);
    event.add::<B>(connection, send.id.as_uuid()).await?;
    let row: Option<SendRow> = find::<B>(connection, send.id.as_uuid()).await?;
    Ok(SendRecorded::New(row.ok_or(Fault::Conflict)?.view()?))
}

/// What to answer when the intent has a row.
fn known(row: SendRow, send: &NewSend) -> Result<SendRecorded, Fault> {
    let is_same =
        row.kind()? == SendKind::Send && row.fingerprint.as_deref() == Some(&send.fingerprint[..]);
    let view = row.view()?;
    Ok(if is_same {
        SendRecorded::Duplicate(view)
    } else {
        SendRecorded::IntentUsed(view)
    })
}

/// Inserts the row; false if the intent has one, or the message that it answers. A reply
/// names that message and its thread.
pub(super) async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    send: &NewSend,
    sealed: Sealed,
    reply: Option<(Uuid, Uuid)>,
) -> Result<bool, Fault> {
    let state = if send.hold.is_some() { "held" } else { "ready" };
    let id: Uuid = send.id.as_uuid();
    let written = query::<B>(Sql {
        postgres: "INSERT INTO sends (id, kind, sender, action, intent_key, provider_key,
                       intent_type, entity, version, fingerprint, provider, message_id,
                       content, content_key, state, due_at, asked_by, created_at, reply_to, thread)
                   SELECT $1, 'send', $2, 'mail', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                          $13, now + $14 * interval '1 millisecond', $15, now, $16, $17
                   FROM clock_timestamp() AS now
                   ON CONFLICT DO NOTHING",
        sqlite: "INSERT INTO sends (id, kind, sender, action, intent_key, provider_key,
                     intent_type, entity, version, fingerprint, provider, message_id,
                     content, content_key, state, due_at, asked_by, created_at, reply_to, thread)
                 SELECT $1, 'send', $2, 'mail', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
                        $13, now + $14, $15, now, $16, $17
                 FROM clock WHERE true
                 ON CONFLICT DO NOTHING",
    })
    .bind(id)
    .bind(send.sender.as_str())
    .bind(&send.key.intent_key()[..])
    .bind(&send.key.as_bytes()[..])
    .bind(send.label.kind.as_str())
    .bind(send.label.entity.as_str())
    .bind(i64::from(send.label.version))
    .bind(&send.fingerprint[..])
    .bind(send.provider.as_str())
    .bind(send.message_id.as_str())
    .bind(sealed.bytes)
    .bind(sealed.key.as_str())
    .bind(state)
    .bind(send.hold.map_or(0, millis))
    .bind(send.by.as_str())
    .bind(reply.map(|(message, _)| message))
    .bind(reply.map(|(_, thread)| thread))
    .execute(connection)
    .await?;
    Ok(written == 1)
}
