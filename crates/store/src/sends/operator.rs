//! What the operator says about a send or a guard that is uncertain.

use pipeline::{ConsumerId, OperatorSettlement, SendDecided, SendId, SendState, SendWritten};
use uuid::Uuid;

use super::event::{Event, outbox_of};
use super::proof::prove;
use super::row::{SendRow, end_lease, find, lock};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;

pub(super) async fn settle<B: Backend>(
    session: Session<B>,
    send: SendId,
    how: OperatorSettlement,
    by: ConsumerId,
) -> Result<SendDecided, Fault> {
    let id = send.as_uuid();
    let mut transaction = session.begin().await?;
    let Some(row) = lock::<B>(&mut transaction, id).await? else {
        transaction.rollback().await?;
        return Ok(SendDecided::Unknown);
    };
    end_lease::<B>(&mut transaction, &row).await?;
    let is_uncertain = row.state()? == SendState::Uncertain;
    let by = Some(by.as_str());
    let is_written = match how {
        OperatorSettlement::Sent(receipt) => {
            let written = prove::<B>(&mut transaction, id, receipt.as_ref(), by).await?;
            matches!(written, SendWritten::Late(_) | SendWritten::Done(_))
        }
        OperatorSettlement::Retry if is_uncertain => {
            reopen::<B>(&mut transaction, &row, by).await?
        }
        OperatorSettlement::Abandon if is_uncertain => {
            abandon::<B>(&mut transaction, id, by).await?
        }
        OperatorSettlement::Retry | OperatorSettlement::Abandon => false,
    };
    let row = find::<B>(&mut transaction, id).await?;
    let row = row.ok_or(Fault::Conflict)?;
    transaction.commit().await?;
    session.announce(&send.to_string());
    session.announce(&outbox_of(&row.sender));
    let view = row.view()?;
    Ok(if is_written {
        SendDecided::Done(view)
    } else {
        SendDecided::NotNow(view)
    })
}

/// Makes an uncertain send ready, or an uncertain guard free. The operator says that nothing
/// was sent, so the mark that it may have been sent is cleared.
async fn reopen<B: Backend>(
    connection: &mut Connection<B>,
    row: &SendRow,
    by: Option<&str>,
) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'ready', reason = 'settled_by_operator', claim_token = NULL,
                       lease_until = NULL, asked = NULL, may_have_been_sent = false,
                       due_at = CASE WHEN kind = 'send' THEN clock_timestamp() END
                   WHERE id = $1 AND state = 'uncertain'
                     AND (kind = 'guard' OR content IS NOT NULL)",
        sqlite: "UPDATE sends
                 SET state = 'ready', reason = 'settled_by_operator', claim_token = NULL,
                     lease_until = NULL, asked = NULL, may_have_been_sent = false,
                     due_at = CASE WHEN kind = 'send' THEN (SELECT now FROM clock) END
                 WHERE id = $1 AND state = 'uncertain'
                   AND (kind = 'guard' OR content IS NOT NULL)",
    })
    .bind(row.id)
    .execute(connection)
    .await?;
    let event = Event {
        by,
        ..Event::new("settled_retry").ready_for(&row.sender)
    };
    if written == 1 {
        event.add::<B>(connection, row.id).await?;
    }
    Ok(written == 1)
}

/// Ends an uncertain send or guard for good.
async fn abandon<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    by: Option<&str>,
) -> Result<bool, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'failed', reason = 'abandoned', claim_token = NULL,
                       lease_until = NULL, due_at = NULL, finished_at = clock_timestamp()
                   WHERE id = $1 AND state = 'uncertain'",
        sqlite: "UPDATE sends
                 SET state = 'failed', reason = 'abandoned', claim_token = NULL,
                     lease_until = NULL, due_at = NULL, finished_at = (SELECT now FROM clock)
                 WHERE id = $1 AND state = 'uncertain'",
    })
    .bind(id)
    .execute(connection)
    .await?;
    let event = Event {
        by,
        ..Event::new("settled_abandon")
    };
    if written == 1 {
        event.add::<B>(connection, id).await?;
    }
    Ok(written == 1)
}
