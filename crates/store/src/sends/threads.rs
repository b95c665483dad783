//! Threads as agents and operators see them, and the callbacks of those that were handed
//! over.

use std::time::Duration;

use async_trait::async_trait;
use pipeline::{
    ClaimToken, ConsumerId, Handover, MessageId, MessageView, Reason, Scope, StoreError, ThreadId,
    ThreadLog, ThreadReleased, ThreadState, ThreadView,
};
use uuid::Uuid;

use super::reply_target;
use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::stored::{attempts, count, inbox, millis};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> ThreadLog for Database<B> {
    async fn message(
        &self,
        message: MessageId,
        scope: &Scope,
    ) -> Result<Option<MessageView>, StoreError> {
        let scope = scope.clone();
        self.run(SHORT, move |session| {
            reply_target::view(session, message, scope)
        })
        .await
    }

    async fn thread(
        &self,
        thread: ThreadId,
        scope: &Scope,
    ) -> Result<Option<ThreadView>, StoreError> {
        let scope = scope.clone();
        self.run(SHORT, move |session| async move {
            let row = find::<B>(&mut *session.reader().await?, thread).await?;
            let row = row.filter(|row| match inbox(&row.inbox) {
                Ok(inbox) => scope.covers(&inbox, row.owner.as_deref()),
                Err(_damaged) => false,
            });
            row.map(ThreadRow::view).transpose()
        })
        .await
    }

    async fn handed_over(&self, limit: u32) -> Result<Vec<ThreadView>, StoreError> {
        self.run(SHORT, move |session| handed_over(session, limit))
            .await
    }

    async fn count_handed_over(&self) -> Result<u64, StoreError> {
        self.run(SHORT, |session| async move {
            let number: Option<i64> = query::<B>(Sql::both(
                "SELECT count(*) FROM threads WHERE state = 'handed_over'",
            ))
            .scalar(&mut *session.reader().await?)
            .await?;
            Ok(number.map_or(0, count))
        })
        .await
    }

    async fn release_thread(
        &self,
        thread: ThreadId,
        by: &ConsumerId,
    ) -> Result<ThreadReleased, StoreError> {
        let by = by.clone();
        self.run(SHORT, move |session| release(session, thread, by))
            .await
    }

    async fn claim_handovers(
        &self,
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<Handover>, StoreError> {
        self.run(SHORT, move |session| claim(session, limit, lease))
            .await
    }

    async fn end_handover(
        &self,
        thread: ThreadId,
        token: ClaimToken,
        wait: Option<Duration>,
    ) -> Result<bool, StoreError> {
        self.run(SHORT, move |session| end(session, thread, token, wait))
            .await
    }
}

row! {
    struct ThreadRow {
        id: Uuid,
        inbox: String,
        owner: Option<String>,
        state: String,
        reason: Option<String>,
        message_id: Option<Uuid>,
        replies: i64,
        handed_over_at: Option<Moment>,
        released_at: Option<Moment>,
        released_by: Option<String>,
        callback: Option<String>,
        callback_tries: i32,
    }
}

/// The columns of a [`ThreadRow`].
macro_rules! thread_columns {
    () => {
        "SELECT t.id, t.inbox, i.owner, t.state, t.reason, t.message_id,
                (SELECT count(*) FROM sends WHERE thread = t.id) AS replies,
                t.handed_over_at, t.released_at, t.released_by, t.callback, t.callback_tries
         FROM threads t LEFT JOIN inboxes i ON i.inbox = t.inbox "
    };
}

impl ThreadRow {
    fn view(self) -> Result<ThreadView, Fault> {
        Ok(ThreadView {
            id: ThreadId::from_uuid(self.id),
            inbox: inbox(&self.inbox)?,
            state: ThreadState::from_word(&self.state).ok_or(Fault::Damaged("state"))?,
            reason: self.reason.as_deref().map(Reason::from_stored),
            message: self.message_id.map(MessageId::from_uuid),
            replies: count(self.replies),
            handed_over_at: self.handed_over_at.map(Into::into),
            released: self.released_at.map(Into::into).zip(self.released_by),
        })
    }
}

async fn find<B: Backend>(
    connection: &mut Connection<B>,
    thread: ThreadId,
) -> Result<Option<ThreadRow>, Fault> {
    query::<B>(Sql::both(concat!(thread_columns!(), "WHERE t.id = $1")))
        .bind(thread.as_uuid())
        .fetch_optional(connection)
        .await
}

async fn handed_over<B: Backend>(
    session: Session<B>,
    limit: u32,
) -> Result<Vec<ThreadView>, Fault> {
    let rows: Vec<ThreadRow> = query::<B>(Sql::both(concat!(
        thread_columns!(),
        "WHERE t.state = 'handed_over' ORDER BY t.handed_over_at DESC LIMIT $1"
    )))
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(ThreadRow::view).collect()
}

async fn release<B: Backend>(
    session: Session<B>,
    thread: ThreadId,
    by: ConsumerId,
) -> Result<ThreadReleased, Fault> {
    let mut transaction = session.begin().await?;
    let written = query::<B>(Sql {
        postgres: "UPDATE threads
                   SET state = 'open', reason = NULL, released_at = clock_timestamp(),
                       released_by = $2, callback_due_at = NULL, callback_token = NULL
                   WHERE id = $1 AND state = 'handed_over'",
        sqlite: "UPDATE threads
                 SET state = 'open', reason = NULL, released_at = (SELECT now FROM clock),
                     released_by = $2, callback_due_at = NULL, callback_token = NULL
                 WHERE id = $1 AND state = 'handed_over'",
    })
    .bind(thread.as_uuid())
    .bind(by.as_str())
    .execute(&mut transaction)
    .await?;
    let row = find::<B>(&mut transaction, thread).await?;
    transaction.commit().await?;
    Ok(match row.map(ThreadRow::view).transpose()? {
        None => ThreadReleased::Unknown,
        Some(view) if written == 1 => ThreadReleased::Done(view),
        Some(view) => ThreadReleased::NotHandedOver(view),
    })
}

async fn claim<B: Backend>(
    session: Session<B>,
    limit: u32,
    lease: Duration,
) -> Result<Vec<Handover>, Fault> {
    let token = ClaimToken::new();
    let mut transaction = session.begin().await?;
    let ids: Vec<Uuid> = query::<B>(Sql {
        postgres: "UPDATE threads
                   SET callback_token = $1, callback_tries = callback_tries + 1,
                       callback_due_at = clock_timestamp() + $2 * interval '1 millisecond'
                   WHERE id IN (SELECT id FROM threads
                                WHERE state = 'handed_over' AND callback_due_at <= now()
                                ORDER BY callback_due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
                     AND callback_due_at <= now()
                   RETURNING id",
        sqlite: "UPDATE threads
                 SET callback_token = $1, callback_tries = callback_tries + 1,
                     callback_due_at = (SELECT now FROM clock) + $2
                 WHERE id IN (SELECT id FROM threads
                              WHERE state = 'handed_over'
                                AND callback_due_at <= (SELECT now FROM clock)
                              ORDER BY callback_due_at LIMIT $3)
                 RETURNING id",
    })
    .bind(token.as_uuid())
    .bind(millis(lease))
    .bind(i64::from(limit))
    .scalars(&mut transaction)
    .await?;
    let mut handovers = Vec::with_capacity(ids.len());
    for id in ids {
        let row = find::<B>(&mut transaction, ThreadId::from_uuid(id)).await?;
        let row = row.ok_or(Fault::Conflict)?;
        handovers.push(Handover {
            callback: row.callback.clone().unwrap_or_default(),
            tries: attempts(row.callback_tries)?,
            thread: row.view()?,
            token,
        });
    }
    transaction.commit().await?;
    Ok(handovers)
}

async fn end<B: Backend>(
    session: Session<B>,
    thread: ThreadId,
    token: ClaimToken,
    wait: Option<Duration>,
) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE threads
                   SET callback_token = NULL,
                       callback_due_at = clock_timestamp() + $3 * interval '1 millisecond'
                   WHERE id = $1 AND callback_token = $2",
        sqlite: "UPDATE threads
                 SET callback_token = NULL, callback_due_at = (SELECT now FROM clock) + $3
                 WHERE id = $1 AND callback_token = $2",
    })
    .bind(thread.as_uuid())
    .bind(token.as_uuid())
    .bind(wait.map(millis))
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(written == 1)
}
