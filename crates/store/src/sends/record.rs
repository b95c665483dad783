//! Recording a send: its intent's unique key decides whether it is new.

use std::collections::HashMap;
use std::sync::Arc;

use pipeline::{NewSend, SendKind, SendRecorded, SendView};
use uuid::Uuid;

use super::event::{announce_new, first_event};
use super::row::{SendRow, find, lock_intent};
use super::{caps, content, requests};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::requests::Noted;
use crate::seal::Sealed;
use crate::stored::millis;

/// The row of an intent, for the answers to later calls of the same transaction.
struct IntentRow {
    view: SendView,
    fingerprint: Option<Vec<u8>>,
}

impl IntentRow {
    /// The answer to a call whose intent has this row already.
    fn answer(&self, send: &NewSend) -> SendRecorded {
        let view = self.view.clone();
        let is_same = view.kind == SendKind::Send
            && self.fingerprint.as_deref() == Some(&send.fingerprint[..]);
        if is_same {
            SendRecorded::Duplicate(view)
        } else {
            SendRecorded::IntentUsed(view)
        }
    }
}

/// Records the sends of concurrent calls in one commit. Repetitions of an intent are
/// often among them: the first one decides, and the others get its row.
pub(super) async fn record_all<B: Backend>(
    session: Session<B>,
    sends: Arc<Vec<NewSend>>,
) -> Result<Vec<SendRecorded>, Fault> {
    let sealed = sends.iter().map(|send| seal(&session, send));
    let sealed = sealed.collect::<Result<Vec<Sealed>, Fault>>()?;
    let mut transaction = session.begin().await?;
    wait_for_others::<B>(&mut transaction).await?;
    let mut rows: HashMap<(&str, [u8; 16]), IntentRow> = HashMap::new();
    let mut all = Vec::with_capacity(sends.len());
    for (send, sealed) in sends.iter().zip(sealed) {
        let intent = (send.sender.as_str(), send.key.intent_key());
        let known = rows.get(&intent).filter(|_| send.asked.is_none());
        if let Some(row) = known {
            all.push(row.answer(send));
            continue;
        }
        let (recorded, row) = record_or_undo::<B>(&mut transaction, send, sealed).await?;
        all.push(recorded);
        if let Some(row) = row {
            rows.insert(intent, row);
        }
    }
    transaction.commit().await?;
    for (send, recorded) in sends.iter().zip(&all) {
        if let SendRecorded::New(_) = recorded {
            announce_new(&session, send);
        }
    }
    Ok(all)
}

fn seal<B>(session: &Session<B>, send: &NewSend) -> Result<Sealed, Fault> {
    let row = (send.id, send.sender.as_str());
    content::seal(&session.secrets.keyring, row, &send.to, &send.payload)
}

/// Transactions that record sends run one after another. Each waits for the others at the
/// row of the installation's cap anyway, and two that lock the same intents in another
/// order would be a deadlock. `SQLite` has one writer.
pub(super) async fn wait_for_others<B: Backend>(
    connection: &mut Connection<B>,
) -> Result<(), Fault> {
    let _: Option<i64> = query::<B>(Sql {
        postgres: "SELECT 1::bigint FROM pg_advisory_xact_lock(hashtext('maillatch sends'))",
        sqlite: "SELECT 1",
    })
    .scalar(connection)
    .await?;
    Ok(())
}

/// Records one send of several. A refused one leaves nothing behind, and a repeated one only its
/// request.
async fn record_or_undo<B: Backend>(
    connection: &mut Connection<B>,
    send: &NewSend,
    sealed: Sealed,
) -> Result<(SendRecorded, Option<IntentRow>), Fault> {
    query::<B>(Sql::both("SAVEPOINT before_send"))
        .execute(connection)
        .await?;
    let (recorded, row) = record_in::<B>(connection, send, sealed).await?;
    let end = match recorded {
        SendRecorded::New(_) | SendRecorded::Duplicate(_) => "RELEASE SAVEPOINT before_send",
        SendRecorded::Again(_)
        | SendRecorded::IntentUsed(_)
        | SendRecorded::KeyReused
        | SendRecorded::Capped(..) => "ROLLBACK TO SAVEPOINT before_send",
    };
    query::<B>(Sql::both(end)).execute(connection).await?;
    Ok((recorded, row))
}

async fn record_in<B: Backend>(
    connection: &mut Connection<B>,
    send: &NewSend,
    sealed: Sealed,
) -> Result<(SendRecorded, Option<IntentRow>), Fault> {
    let made = send.id.to_string();
    let asked = send.asked.as_ref();
    match requests::SENDS.note::<B>(connection, asked, &made).await? {
        Noted::New => {}
        Noted::Reused => return Ok((SendRecorded::KeyReused, None)),
        Noted::Before(made) => {
            let answer = match requests::found::<B>(connection, &made).await? {
                Some(view) => SendRecorded::Again(view),
                None => SendRecorded::KeyReused,
            };
            return Ok((answer, None));
        }
    }
    if !insert::<B>(connection, send, sealed, None).await? {
        let row = lock_intent::<B>(connection, send.sender.as_str(), &send.key).await?;
        let row = intent_row(row)?;
        let answer = row.answer(send);
        if let SendRecorded::Duplicate(view) = &answer {
            let known = view.id.to_string();
            requests::SENDS
                .correct::<B>(connection, asked, &known)
                .await?;
        }
        return Ok((answer, Some(row)));
    }
    if let Some((what, left)) = caps::count::<B>(connection, &send.caps).await? {
        return Ok((SendRecorded::Capped(what, left), None));
    }
    let event = first_event(send);
    event.add::<B>(connection, send.id.as_uuid()).await?;
    let row = intent_row(find::<B>(connection, send.id.as_uuid()).await?)?;
    Ok((SendRecorded::New(row.view.clone()), Some(row)))
}

fn intent_row(row: Option<SendRow>) -> Result<IntentRow, Fault> {
    let row = row.ok_or(Fault::Conflict)?;
    let fingerprint = row.fingerprint.clone();
    let view = row.view()?;
    Ok(IntentRow { view, fingerprint })
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
