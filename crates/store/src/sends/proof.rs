//! Proof that a send was accepted. It is accepted from every caller, at any time and in
//! any state, because it cannot be wrong about the past.

use pipeline::{Receipt, SendState, SendWritten};
use uuid::Uuid;

use super::event::Event;
use super::row::lock;
use crate::backend::{Backend, Connection, Sql, query};
use crate::fault::Fault;

/// Writes that a send was accepted. A worker that has claimed it meanwhile loses the claim, so
/// it is not dispatched again.
pub(super) async fn prove<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    receipt: Option<&Receipt>,
    by: Option<&str>,
) -> Result<SendWritten, Fault> {
    let Some(row) = lock::<B>(connection, id).await? else {
        return Ok(SendWritten::Lost);
    };
    let before = row.state()?;
    query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'sent', receipt = coalesce(receipt, $2), reason = NULL,
                       claim_token = NULL, lease_until = NULL, due_at = NULL,
                       finished_at = coalesce(finished_at, clock_timestamp())
                   WHERE id = $1",
        sqlite: "UPDATE sends
                 SET state = 'sent', receipt = coalesce(receipt, $2), reason = NULL,
                     claim_token = NULL, lease_until = NULL, due_at = NULL,
                     finished_at = coalesce(finished_at, (SELECT now FROM clock))
                 WHERE id = $1",
    })
    .bind(id)
    .bind(receipt.map(Receipt::as_str))
    .execute(connection)
    .await?;
    if before == SendState::Sent {
        return Ok(SendWritten::Done(SendState::Sent));
    }
    let event = Event {
        by,
        ..Event::new("sent").because(before.as_str())
    };
    event.add::<B>(connection, id).await?;
    Ok(if before == SendState::Dispatched {
        SendWritten::Done(SendState::Sent)
    } else {
        SendWritten::Late(before)
    })
}
