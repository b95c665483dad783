//! The delivery that an id leads to, and what became of its mails.

use pipeline::{DeliveryId, MessageId, Reason, Trace, TracedId, TracedMessage};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::{count, inbox, split};

row! {
    struct TraceRow {
        id: Uuid,
        state: String,
        reason: Option<String>,
    }
}

pub(super) async fn trace<B: Backend>(
    session: Session<B>,
    id: TracedId,
) -> Result<Option<Trace>, Fault> {
    let (sql, id) = match id {
        TracedId::Delivery(id) => (
            Sql::both("SELECT id, state, reason FROM deliveries WHERE id = $1"),
            id.as_uuid(),
        ),
        TracedId::Message(id) => (
            Sql::both(
                "SELECT d.id, d.state, d.reason
                 FROM messages m JOIN deliveries d ON d.id = m.delivery_id
                 WHERE m.id = $1",
            ),
            id.as_uuid(),
        ),
        TracedId::Artifact(id) => (
            Sql::both(
                "SELECT d.id, d.state, d.reason
                 FROM artifacts a
                 JOIN messages m ON m.id = a.message_id
                 JOIN deliveries d ON d.id = m.delivery_id
                 WHERE a.id = $1",
            ),
            id.as_uuid(),
        ),
    };
    let mut connection = session.reader().await?;
    let row: Option<TraceRow> = query::<B>(sql)
        .bind(id)
        .fetch_optional(&mut connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Trace {
        delivery: DeliveryId::from_uuid(row.id),
        state: row.state,
        reason: row.reason.as_deref().map(Reason::from_stored),
        messages: messages::<B>(&mut connection, row.id).await?,
    }))
}

row! {
    struct MessageRow {
        id: Uuid,
        inbox: String,
        items: i64,
        rules: Option<String>,
        no_reply: Option<String>,
    }
}

/// The messages of a delivery, and what rules did with them.
async fn messages<B: Backend>(
    connection: &mut Connection<B>,
    delivery: Uuid,
) -> Result<Vec<TracedMessage>, Fault> {
    let rows: Vec<MessageRow> = query::<B>(Sql::both(
        "SELECT m.id, m.inbox, h.rules, h.no_reply,
                (SELECT count(*) FROM artifacts WHERE message_id = m.id) AS items
         FROM messages m LEFT JOIN handlings h ON h.message_id = m.id
         WHERE m.delivery_id = $1
         ORDER BY m.id LIMIT 100",
    ))
    .bind(delivery)
    .fetch_all(connection)
    .await?;
    let message = |row: MessageRow| {
        Ok(TracedMessage {
            id: MessageId::from_uuid(row.id),
            inbox: inbox(&row.inbox)?,
            items: count(row.items),
            rules: row.rules.as_deref().map(split).unwrap_or_default(),
            no_reply: row.no_reply.as_deref().map(Reason::from_stored),
        })
    };
    rows.into_iter().map(message).collect()
}
