//! Sends as those see them who asked for them, and decisions before the dispatch.

use async_trait::async_trait;
use pipeline::{
    ConsumerId, InboxWatch, NewSend, OperatorSettlement, Reason, SendDecided, SendDecision,
    SendEvent, SendId, SendKind, SendLog, SendRecorded, SendState, SendView, StoreError,
};
use uuid::Uuid;

use super::Sends;
use super::event::{Event, outbox_of};
use super::operator::settle;
use super::record::record_all;
use super::row::{SendRow, find, postgres_columns, sqlite_columns};
use crate::backend::{Backend, Connection, Sql, query};
use crate::column::Moment;
use crate::combine::TimeLimit;
use crate::database::Session;
use crate::fault::Fault;
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> SendLog for Sends<B> {
    async fn record_send(&self, send: NewSend) -> Result<SendRecorded, StoreError> {
        let limit = TimeLimit::of_call(SHORT);
        let records = &self.records;
        records.call(&self.database, limit, send, record_all).await
    }

    async fn send(&self, send: SendId) -> Result<Option<SendView>, StoreError> {
        self.database
            .run(SHORT, move |session| async move {
                let row = find::<B>(&mut *session.reader().await?, send.as_uuid()).await?;
                row.map(SendRow::view).transpose()
            })
            .await
    }

    async fn sends(
        &self,
        state: SendState,
        before: Option<SendId>,
        limit: u32,
    ) -> Result<Vec<SendView>, StoreError> {
        self.database
            .run(SHORT, move |session| list(session, state, before, limit))
            .await
    }

    async fn send_events(&self, send: SendId) -> Result<Vec<SendEvent>, StoreError> {
        self.database
            .run(SHORT, move |session| events(session, send))
            .await
    }

    async fn decide_send(
        &self,
        send: SendId,
        decision: SendDecision,
        by: &ConsumerId,
    ) -> Result<SendDecided, StoreError> {
        let by = by.clone();
        self.database
            .run(SHORT, move |session| decide(session, send, decision, by))
            .await
    }

    async fn settle_send(
        &self,
        send: SendId,
        how: OperatorSettlement,
        by: &ConsumerId,
    ) -> Result<SendDecided, StoreError> {
        let by = by.clone();
        self.database
            .run(SHORT, move |session| settle(session, send, how, by))
            .await
    }

    fn watch_send(&self, send: SendId) -> Box<dyn InboxWatch> {
        self.database.session.backend.watch();
        self.database.session.watches.watch_name(&send.to_string())
    }
}

/// Newest first: ids are ordered by time.
async fn list<B: Backend>(
    session: Session<B>,
    state: SendState,
    before: Option<SendId>,
    limit: u32,
) -> Result<Vec<SendView>, Fault> {
    // A guard whose lease is over is listed as uncertain, before it is stored as such.
    let rows: Vec<SendRow> = query::<B>(Sql {
        postgres: concat!(
            "SELECT ",
            postgres_columns!(),
            "FROM sends
             WHERE id IN (
                 SELECT id FROM (SELECT id FROM sends
                                 WHERE state = $1 AND id < $2
                                   AND (state = 'dispatched' AND kind = 'guard'
                                        AND lease_until <= now()) IS NOT TRUE
                                 ORDER BY id DESC LIMIT $3) AS stored
                 UNION ALL
                 SELECT id FROM (SELECT id FROM sends
                                 WHERE $1 = 'uncertain' AND state = 'dispatched' AND id < $2
                                   AND kind = 'guard' AND lease_until <= now()
                                 ORDER BY id DESC LIMIT $3) AS ended)
             ORDER BY id DESC LIMIT $3"
        ),
        sqlite: concat!(
            "SELECT ",
            sqlite_columns!(),
            "FROM sends
             WHERE id IN (
                 SELECT id FROM (SELECT id FROM sends
                                 WHERE state = $1 AND id < $2
                                   AND (state = 'dispatched' AND kind = 'guard'
                                        AND lease_until <= (SELECT now FROM clock)) IS NOT TRUE
                                 ORDER BY id DESC LIMIT $3) AS stored
                 UNION ALL
                 SELECT id FROM (SELECT id FROM sends
                                 WHERE $1 = 'uncertain' AND state = 'dispatched' AND id < $2
                                   AND kind = 'guard'
                                   AND lease_until <= (SELECT now FROM clock)
                                 ORDER BY id DESC LIMIT $3) AS ended)
             ORDER BY id DESC LIMIT $3"
        ),
    })
    .bind(state.as_str())
    .bind(before.map_or(Uuid::max(), |send| send.as_uuid()))
    .bind(i64::from(limit))
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(SendRow::view).collect()
}

async fn events<B: Backend>(session: Session<B>, send: SendId) -> Result<Vec<SendEvent>, Fault> {
    type Columns = (Moment, String, Option<String>, Option<String>);
    let rows: Vec<Columns> = query::<B>(Sql::both(
        "SELECT at, what, why, by_key FROM send_events WHERE send_id = $1 ORDER BY id LIMIT 200",
    ))
    .bind(send.as_uuid())
    .fetch_all(&mut *session.reader().await?)
    .await?;
    let events = rows.into_iter().map(|(at, what, why, by)| SendEvent {
        at: at.into(),
        what: Reason::from_stored(&what),
        why: why.as_deref().map(Reason::from_stored),
        by,
    });
    Ok(events.collect())
}

async fn decide<B: Backend>(
    session: Session<B>,
    send: SendId,
    decision: SendDecision,
    by: ConsumerId,
) -> Result<SendDecided, Fault> {
    let id = send.as_uuid();
    let mut transaction = session.begin().await?;
    let (written, what) = match decision {
        SendDecision::Approve => (approve::<B>(&mut transaction, id).await?, "approved"),
        SendDecision::Refuse => (cancel::<B>(&mut transaction, id, "held").await?, "refused"),
        SendDecision::Cancel => (
            cancel::<B>(&mut transaction, id, "ready").await?,
            "cancelled",
        ),
    };
    let row = find::<B>(&mut transaction, id).await?;
    if let Some(row) = row.as_ref().filter(|_| written == 1) {
        let event = Event {
            ready: (decision == SendDecision::Approve).then_some(&row.sender),
            ..Event::new(what).by(by.as_str())
        };
        event.add::<B>(&mut transaction, id).await?;
    }
    transaction.commit().await?;
    session.announce(&send.to_string());
    if let Some(row) = &row {
        session.announce(&outbox_of(&row.sender));
    }
    if written == 1 && decision != SendDecision::Approve {
        B::truncate_log(&mut *session.writer().await?).await?;
    }
    let view = row.map(SendRow::view).transpose()?;
    Ok(match view.filter(|view| view.kind == SendKind::Send) {
        None => SendDecided::Unknown,
        Some(view) if written == 1 => SendDecided::Done(view),
        Some(view) => SendDecided::NotNow(view),
    })
}

/// A held send whose time is over is not approved: it is about to be cancelled.
async fn approve<B: Backend>(connection: &mut Connection<B>, id: Uuid) -> Result<u64, Fault> {
    query::<B>(Sql {
        postgres: "UPDATE sends SET state = 'ready', due_at = clock_timestamp()
                   WHERE id = $1 AND state = 'held' AND due_at > clock_timestamp()",
        sqlite: "UPDATE sends SET state = 'ready', due_at = (SELECT now FROM clock)
                 WHERE id = $1 AND state = 'held' AND due_at > (SELECT now FROM clock)",
    })
    .bind(id)
    .execute(connection)
    .await
}

/// Cancels a send that is `held` or in the state `also`, unless an earlier dispatch may have
/// been sent: then nobody may say that there is no mail.
async fn cancel<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    also: &str,
) -> Result<u64, Fault> {
    query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'cancelled', content = NULL, content_key = NULL, due_at = NULL,
                       finished_at = clock_timestamp()
                   WHERE id = $1 AND kind = 'send' AND state IN ('held', $2)
                     AND NOT may_have_been_sent",
        sqlite: "UPDATE sends
                 SET state = 'cancelled', content = NULL, content_key = NULL, due_at = NULL,
                     finished_at = (SELECT now FROM clock)
                 WHERE id = $1 AND kind = 'send' AND state IN ('held', $2)
                   AND NOT may_have_been_sent",
    })
    .bind(id)
    .bind(also)
    .execute(connection)
    .await
}
