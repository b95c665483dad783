//! Requests for sends and for guards that a client may repeat. Each kind has a table of its own,
//! because `SQLite` cannot extend the list of routes in `requests`.

use pipeline::{Request, SendId, SendView};

use crate::backend::{Backend, Connection, Sql, query};
use crate::fault::Fault;
use crate::requests::{Noted, compared};

use super::row::{SendRow, find};

/// The statements of a table of requests.
pub(super) struct Table {
    insert: Sql,
    find: Sql,
    correct: Sql,
    delete: Sql,
}

macro_rules! table {
    ($name:literal) => {
        Table {
            insert: Sql {
                postgres: concat!(
                    "INSERT INTO ",
                    $name,
                    " (consumer, idempotency_key, tag, made, created_at)
                     VALUES ($1, $2, $3, $4, clock_timestamp())
                     ON CONFLICT (consumer, idempotency_key) DO NOTHING"
                ),
                sqlite: concat!(
                    "INSERT INTO ",
                    $name,
                    " (consumer, idempotency_key, tag, made, created_at)
                     SELECT $1, $2, $3, $4, now FROM clock WHERE true
                     ON CONFLICT (consumer, idempotency_key) DO NOTHING"
                ),
            },
            find: Sql::both(concat!(
                "SELECT tag, made FROM ",
                $name,
                " WHERE consumer = $1 AND idempotency_key = $2"
            )),
            correct: Sql::both(concat!(
                "UPDATE ",
                $name,
                " SET made = $3 WHERE consumer = $1 AND idempotency_key = $2"
            )),
            delete: Sql::both(concat!(
                "DELETE FROM ",
                $name,
                " WHERE consumer = $1 AND idempotency_key = $2"
            )),
        }
    };
}

/// Requests for sends and replies.
pub(super) const SENDS: Table = table!("send_requests");
/// Requests for guards.
pub(super) const GUARDS: Table = table!("guard_requests");

impl Table {
    /// Records a request in the transaction that makes `made`, as [`crate::requests::note()`]
    /// does: it is the first lock of that transaction on a row that others use.
    pub(super) async fn note<B: Backend>(
        &self,
        connection: &mut Connection<B>,
        request: Option<&Request>,
        made: &str,
    ) -> Result<Noted, Fault> {
        let Some(request) = request else {
            return Ok(Noted::New);
        };
        let written = query::<B>(self.insert)
            .bind(request.consumer.as_str())
            .bind(request.key.as_str())
            .bind(request.tag.as_slice())
            .bind(made)
            .execute(connection)
            .await?;
        if written == 1 {
            return Ok(Noted::New);
        }
        let known = query::<B>(self.find)
            .bind(request.consumer.as_str())
            .bind(request.key.as_str())
            .fetch_optional(connection)
            .await?;
        compared(request, known)
    }

    /// Writes that a request which this transaction has noted made nothing, and was answered
    /// with this.
    pub(super) async fn correct<B: Backend>(
        &self,
        connection: &mut Connection<B>,
        request: Option<&Request>,
        known: &str,
    ) -> Result<(), Fault> {
        let Some(request) = request else {
            return Ok(());
        };
        query::<B>(self.correct)
            .bind(request.consumer.as_str())
            .bind(request.key.as_str())
            .bind(known)
            .execute(connection)
            .await?;
        Ok(())
    }

    /// Takes back that this transaction has noted a request: it is refused, and its key is
    /// free.
    pub(super) async fn forget<B: Backend>(
        &self,
        connection: &mut Connection<B>,
        request: Option<&Request>,
    ) -> Result<(), Fault> {
        let Some(request) = request else {
            return Ok(());
        };
        query::<B>(self.delete)
            .bind(request.consumer.as_str())
            .bind(request.key.as_str())
            .execute(connection)
            .await?;
        Ok(())
    }
}

/// The send that a request was answered with. `None`: the request was the first one to ask for
/// it again shortly before the intent was forgotten, and is still kept. Its key is not used for
/// another send.
pub(super) async fn found<B: Backend>(
    connection: &mut Connection<B>,
    made: &str,
) -> Result<Option<SendView>, Fault> {
    let made: SendId = made.parse().or(Err(Fault::Damaged("made")))?;
    let row = find::<B>(connection, made.as_uuid()).await?;
    row.map(SendRow::view).transpose()
}

/// Writes that a request for a reply, which this transaction has noted, was answered with the
/// reply that its message has.
pub(super) async fn found_reply<B: Backend>(
    connection: &mut Connection<B>,
    request: &Request,
    reply: SendId,
    is_same: bool,
) -> Result<(), Fault> {
    query::<B>(Sql::both(
        "UPDATE send_requests SET made = $3, same_content = $4
         WHERE consumer = $1 AND idempotency_key = $2",
    ))
    .bind(request.consumer.as_str())
    .bind(request.key.as_str())
    .bind(reply.to_string())
    .bind(is_same)
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether the reply that a request was answered with has the content that it asked for.
pub(super) async fn has_same_content<B: Backend>(
    connection: &mut Connection<B>,
    request: &Request,
) -> Result<bool, Fault> {
    let is_same: Option<bool> = query::<B>(Sql::both(
        "SELECT same_content FROM send_requests WHERE consumer = $1 AND idempotency_key = $2",
    ))
    .bind(request.consumer.as_str())
    .bind(request.key.as_str())
    .scalar(connection)
    .await?;
    is_same.ok_or(Fault::Conflict)
}
