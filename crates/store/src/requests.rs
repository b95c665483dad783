//! Requests that a client may repeat: each is noted with what it made. Those for sends and
//! guards have tables of their own (`sends/requests.rs`).

use pipeline::Request;

use crate::backend::{Backend, Connection, Sql, query};
use crate::fault::Fault;

/// Whether a request came before.
pub(crate) enum Noted {
    /// It is new, and noted if this transaction commits.
    New,
    /// It came before, and made this.
    Before(String),
    /// Its key was used for another request.
    Reused,
}

/// Records a request in the transaction that creates `made`. This is the first lock of
/// that transaction, so a retry that arrives at the same moment waits here until the first
/// request is done. A request without a key is always new.
pub(crate) async fn note<B: Backend>(
    connection: &mut Connection<B>,
    request: Option<&Request>,
    made: &str,
) -> Result<Noted, Fault> {
    let Some(request) = request else {
        return Ok(Noted::New);
    };
    let written = query::<B>(Sql {
        postgres: "INSERT INTO requests (consumer, route, idempotency_key, tag, made, created_at)
                   VALUES ($1, $2, $3, $4, $5, clock_timestamp())
                   ON CONFLICT (consumer, route, idempotency_key) DO NOTHING",
        sqlite: "INSERT INTO requests (consumer, route, idempotency_key, tag, made, created_at)
                 SELECT $1, $2, $3, $4, $5, now FROM clock WHERE true
                 ON CONFLICT (consumer, route, idempotency_key) DO NOTHING",
    })
    .bind(request.consumer.as_str())
    .bind(request.kind.as_str())
    .bind(request.key.as_str())
    .bind(request.tag.as_slice())
    .bind(made)
    .execute(connection)
    .await?;
    if written == 1 {
        return Ok(Noted::New);
    }
    let known: Option<(Vec<u8>, String)> = query::<B>(Sql::both(
        "SELECT tag, made FROM requests
         WHERE consumer = $1 AND route = $2 AND idempotency_key = $3",
    ))
    .bind(request.consumer.as_str())
    .bind(request.kind.as_str())
    .bind(request.key.as_str())
    .fetch_optional(connection)
    .await?;
    compared(request, known)
}

/// Whether the request under the same key was the same one.
pub(crate) fn compared(
    request: &Request,
    known: Option<(Vec<u8>, String)>,
) -> Result<Noted, Fault> {
    let (tag, made) = known.ok_or(Fault::Conflict)?;
    Ok(if tag == request.tag {
        Noted::Before(made)
    } else {
        Noted::Reused
    })
}
