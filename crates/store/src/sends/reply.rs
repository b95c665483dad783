//! Recording a reply: the message's unique key decides whether it is new, and its thread
//! whether it may be sent.

use async_trait::async_trait;
use pipeline::{
    HandoverTime, MessageId, NewReply, ReplyLog, ReplyRecorded, ReplyTarget, Request, Scope,
    SendId, StoreError, ThreadState,
};

use super::event::{announce_new, first_event};
use super::record::{insert, wait_for_others};
use super::requests::{SENDS, found, found_reply, has_same_content};
use super::row::{SendRow, find, find_reply, lock_intent};
use super::{caps, content, reply_target, thread_caps};
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::requests::Noted;
use crate::seal::Sealed;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> ReplyLog for Database<B> {
    async fn reply_target(
        &self,
        message: MessageId,
        scope: &Scope,
    ) -> Result<Option<ReplyTarget>, StoreError> {
        let scope = scope.clone();
        self.run(SHORT, move |session| {
            reply_target::find(session, message, scope)
        })
        .await
    }

    async fn record_reply(&self, reply: NewReply) -> Result<ReplyRecorded, StoreError> {
        self.run(SHORT, |session| record(session, reply)).await
    }

    async fn repeat_reply(
        &self,
        reply: SendId,
        asked: Request,
    ) -> Result<ReplyRecorded, StoreError> {
        self.run(SHORT, move |session| repeat(session, reply, asked))
            .await
    }
}

/// What became of a reply inside of its transaction.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each request, and it is moved once"
)]
enum Attempted {
    Answered(ReplyRecorded),
    /// One reply too many, for this reason.
    TooMany(&'static str),
}

async fn record<B: Backend>(session: Session<B>, reply: NewReply) -> Result<ReplyRecorded, Fault> {
    let send = &reply.send;
    let row = (send.id, send.sender.as_str());
    let sealed = content::seal(&session.secrets.keyring, row, &send.to, &send.payload)?;
    let mut transaction = session.begin().await?;
    wait_for_others::<B>(&mut transaction).await?;
    match record_in::<B>(&mut transaction, &reply, sealed).await? {
        Attempted::Answered(recorded @ ReplyRecorded::New(_)) => {
            transaction.commit().await?;
            announce_new(&session, send);
            Ok(recorded)
        }
        // Its request is kept.
        Attempted::Answered(recorded @ ReplyRecorded::Known(..)) => {
            transaction.commit().await?;
            Ok(recorded)
        }
        Attempted::Answered(recorded) => {
            transaction.rollback().await?;
            Ok(recorded)
        }
        Attempted::TooMany(reason) => {
            // The rollback takes the reply back. If the next transaction fails, the caller
            // gets an error, and the next reply is one too many again.
            transaction.rollback().await?;
            let mut transaction = session.begin().await?;
            lock::<B>(&mut transaction, &reply).await?;
            hand_over::<B>(&mut transaction, &reply, reason).await?;
            transaction.commit().await?;
            let now = HandoverTime::Now;
            Ok(ReplyRecorded::HandedOver(reply.thread.0, now))
        }
    }
}

async fn record_in<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
    sealed: Sealed,
) -> Result<Attempted, Fault> {
    let answered = |recorded| Ok(Attempted::Answered(recorded));
    let send = &reply.send;
    if let Some(asked) = &send.asked {
        let made = send.id.to_string();
        match SENDS.note::<B>(connection, Some(asked), &made).await? {
            Noted::New => {}
            Noted::Reused => return answered(ReplyRecorded::KeyReused),
            Noted::Before(made) => {
                return answered(answer_again::<B>(connection, asked, &made).await?);
            }
        }
    }
    query::<B>(Sql::both("SAVEPOINT after_request"))
        .execute(&mut *connection)
        .await?;
    let thread = lock::<B>(connection, reply).await?;
    let to = (reply.message.as_uuid(), reply.thread.0.as_uuid());
    if !insert::<B>(connection, send, sealed, Some(to)).await? {
        return answered(known::<B>(connection, reply).await?);
    }
    // A repeated request gets the state of the first reply, so these come after the insert.
    if thread.state == ThreadState::HandedOver.as_str() {
        let before = HandoverTime::Before;
        return answered(ReplyRecorded::HandedOver(reply.thread.0, before));
    }
    if thread.is_answered_since {
        return answered(ReplyRecorded::AnsweredSince);
    }
    if let Some(reason) = thread_caps::exceeded::<B>(connection, reply).await? {
        return Ok(Attempted::TooMany(reason));
    }
    if let Some((what, left)) = caps::count::<B>(connection, &send.caps).await? {
        return answered(ReplyRecorded::Capped(what, left));
    }
    note_ours::<B>(connection, reply).await?;
    let event = first_event(send);
    event.add::<B>(connection, send.id.as_uuid()).await?;
    let row: Option<SendRow> = find::<B>(connection, send.id.as_uuid()).await?;
    let view = row.ok_or(Fault::Conflict)?.view()?;
    answered(ReplyRecorded::New(view))
}

/// The answer that the same request got before.
async fn answer_again<B: Backend>(
    connection: &mut Connection<B>,
    asked: &Request,
    made: &str,
) -> Result<ReplyRecorded, Fault> {
    let is_same = has_same_content::<B>(connection, asked).await?;
    Ok(match found::<B>(connection, made).await? {
        Some(view) => ReplyRecorded::Known(view, is_same),
        None => ReplyRecorded::KeyReused,
    })
}

/// Answers a request, for which no mail was rendered, with the reply that its message has.
async fn repeat<B: Backend>(
    session: Session<B>,
    reply: SendId,
    asked: Request,
) -> Result<ReplyRecorded, Fault> {
    let mut transaction = session.begin().await?;
    let connection = &mut *transaction;
    let made = reply.to_string();
    let recorded = match SENDS.note::<B>(connection, Some(&asked), &made).await? {
        Noted::New => {
            found_reply::<B>(connection, &asked, reply, false).await?;
            let view = found::<B>(connection, &made).await?;
            // Retention deleted the reply in between; the caller asks again.
            ReplyRecorded::Known(view.ok_or(Fault::Conflict)?, false)
        }
        Noted::Before(made) => answer_again::<B>(connection, &asked, &made).await?,
        Noted::Reused => ReplyRecorded::KeyReused,
    };
    transaction.commit().await?;
    Ok(recorded)
}

/// The reply that the message has, or the action that has its intent. Of this transaction, only
/// the request stays: a thread without a reply has no row.
async fn known<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
) -> Result<ReplyRecorded, Fault> {
    let send = &reply.send;
    query::<B>(Sql::both("ROLLBACK TO SAVEPOINT after_request"))
        .execute(&mut *connection)
        .await?;
    if let Some(row) = find_reply::<B>(connection, reply.message.as_uuid()).await? {
        let is_same = row.fingerprint.as_deref() == Some(&send.fingerprint[..]);
        let view = row.view()?;
        if let Some(asked) = &send.asked {
            found_reply::<B>(connection, asked, view.id, is_same).await?;
        }
        return Ok(ReplyRecorded::Known(view, is_same));
    }
    let row = lock_intent::<B>(connection, send.sender.as_str(), &send.key).await?;
    let view = row.ok_or(Fault::Conflict)?.view()?;
    Ok(ReplyRecorded::IntentUsed(view))
}

row! {
    struct LockedThread {
        state: String,
        /// Whether a mail of ours followed the message.
        is_answered_since: bool,
    }
}

/// Locks the thread until the transaction ends. The first reply makes its row.
async fn lock<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
) -> Result<LockedThread, Fault> {
    let (thread, person) = &reply.thread;
    let locked: Option<LockedThread> = query::<B>(Sql {
        postgres: "INSERT INTO threads (id, inbox, person, created_at)
                   VALUES ($1, $2, $3, clock_timestamp())
                   ON CONFLICT (id) DO UPDATE SET inbox = excluded.inbox
                   RETURNING state,
                       coalesce(last_ours > (SELECT received_at FROM messages WHERE id = $4),
                                false) AS is_answered_since",
        sqlite: "INSERT INTO threads (id, inbox, person, created_at)
                 SELECT $1, $2, $3, now FROM clock WHERE true
                 ON CONFLICT (id) DO UPDATE SET inbox = excluded.inbox
                 RETURNING state,
                     coalesce(last_ours > (SELECT received_at FROM messages WHERE id = $4),
                              false) AS is_answered_since",
    })
    .bind(thread.as_uuid())
    .bind(reply.inbox.as_str())
    .bind(&person[..])
    .bind(reply.message.as_uuid())
    .fetch_optional(connection)
    .await?;
    locked.ok_or(Fault::Conflict)
}

async fn note_ours<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE threads SET last_ours = clock_timestamp() WHERE id = $1",
        sqlite: "UPDATE threads SET last_ours = (SELECT now FROM clock) WHERE id = $1",
    })
    .bind(reply.thread.0.as_uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// Hands the thread over, and makes its callback due.
async fn hand_over<B: Backend>(
    connection: &mut Connection<B>,
    reply: &NewReply,
    reason: &str,
) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE threads
                   SET state = 'handed_over', reason = $2, message_id = $3, callback = $4,
                       handed_over_at = clock_timestamp(), callback_tries = 0,
                       callback_token = NULL,
                       callback_due_at = CASE WHEN $4::text IS NOT NULL
                                              THEN clock_timestamp() END
                   WHERE id = $1 AND state = 'open'",
        sqlite: "UPDATE threads
                 SET state = 'handed_over', reason = $2, message_id = $3, callback = $4,
                     handed_over_at = (SELECT now FROM clock), callback_tries = 0,
                     callback_token = NULL,
                     callback_due_at = CASE WHEN $4 IS NOT NULL
                                            THEN (SELECT now FROM clock) END
                 WHERE id = $1 AND state = 'open'",
    })
    .bind(reply.thread.0.as_uuid())
    .bind(reason)
    .bind(reply.message.as_uuid())
    .bind(reply.caps.callback.as_deref())
    .execute(connection)
    .await?;
    Ok(())
}
