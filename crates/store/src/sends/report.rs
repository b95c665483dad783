//! What the holder of a guard reports: done, not done, or still busy.

use std::time::Duration;

use pipeline::{ClaimToken, GuardId, GuardReported, Receipt, SendId, SendKind, SendState};
use uuid::Uuid;

use super::event::Event;
use super::row::{end_lease, find, lock};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;
use crate::stored::{millis, span};

/// What the holder of a guard reports.
pub(super) enum Report {
    Confirm(Option<Receipt>),
    Release,
    Extend(Duration),
}

pub(super) async fn report<B: Backend>(
    session: Session<B>,
    guard: GuardId,
    token: ClaimToken,
    report: Report,
) -> Result<GuardReported, Fault> {
    let mut transaction = session.begin().await?;
    let reported = report_locked::<B>(&mut transaction, guard.as_uuid(), token, report).await?;
    // A lease that is over is stored also when the report changed nothing.
    transaction.commit().await?;
    session.announce(&SendId::from_uuid(guard.as_uuid()).to_string());
    Ok(reported)
}

async fn report_locked<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    token: ClaimToken,
    report: Report,
) -> Result<GuardReported, Fault> {
    let Some(row) = lock::<B>(connection, id).await? else {
        return Ok(GuardReported::Unknown);
    };
    let is_current = row.claim_token == Some(token.as_uuid());
    let is_guard = row.kind()? == SendKind::Guard;
    if !is_guard || !(is_current || was_issued::<B>(connection, id, token).await?) {
        return Ok(GuardReported::Unknown);
    }
    end_lease::<B>(connection, &row).await?;
    let state = row.state()?;
    let written = match (report, state) {
        (_, SendState::Sent) => return Ok(GuardReported::AlreadyDone(row.view()?)),
        (Report::Confirm(receipt), before) => {
            confirm::<B>(connection, id, receipt.as_ref(), before).await?
        }
        (Report::Release | Report::Extend(_), SendState::Uncertain) if is_current => {
            return Ok(GuardReported::LeaseOver(row.view()?));
        }
        (Report::Release, SendState::Dispatched) if is_current => {
            release::<B>(connection, id).await?
        }
        (Report::Extend(lease), SendState::Dispatched) if is_current => {
            extend::<B>(connection, id, lease).await?
        }
        (Report::Release | Report::Extend(_), _) => {
            return Ok(GuardReported::StaleToken(row.view()?));
        }
    };
    let row = find::<B>(connection, id).await?.ok_or(Fault::Conflict)?;
    if written == 0 {
        // The lease ended while this transaction ran.
        end_lease::<B>(connection, &row).await?;
        return Ok(GuardReported::LeaseOver(row.view()?));
    }
    let remaining = span(row.lease_ms.unwrap_or(0));
    Ok(GuardReported::Done(row.view()?, remaining))
}

/// Whether this guard ever had this token.
async fn was_issued<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    token: ClaimToken,
) -> Result<bool, Fault> {
    let known: Option<bool> = query::<B>(Sql::both(
        "SELECT EXISTS (SELECT 1 FROM send_events WHERE send_id = $1 AND claim_token = $2)",
    ))
    .bind(id)
    .bind(token.as_uuid())
    .scalar(connection)
    .await?;
    Ok(known.unwrap_or(false))
}

async fn confirm<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    receipt: Option<&Receipt>,
    before: SendState,
) -> Result<u64, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'sent', receipt = $2, reason = NULL, claim_token = NULL,
                       lease_until = NULL, finished_at = clock_timestamp()
                   WHERE id = $1 AND state <> 'sent'",
        sqlite: "UPDATE sends
                 SET state = 'sent', receipt = $2, reason = NULL, claim_token = NULL,
                     lease_until = NULL, finished_at = (SELECT now FROM clock)
                 WHERE id = $1 AND state <> 'sent'",
    })
    .bind(id)
    .bind(receipt.map(Receipt::as_str))
    .execute(connection)
    .await?;
    Event::new("confirmed")
        .because(before.as_str())
        .add::<B>(connection, id)
        .await?;
    Ok(written)
}

async fn release<B: Backend>(connection: &mut Connection<B>, id: Uuid) -> Result<u64, Fault> {
    let written = query::<B>(Sql {
        postgres: "UPDATE sends
                   SET state = 'ready', reason = 'released', claim_token = NULL,
                       lease_until = NULL, asked = NULL
                   WHERE id = $1 AND state = 'dispatched' AND lease_until > clock_timestamp()",
        sqlite: "UPDATE sends
                 SET state = 'ready', reason = 'released', claim_token = NULL,
                     lease_until = NULL, asked = NULL
                 WHERE id = $1 AND state = 'dispatched'
                   AND lease_until > (SELECT now FROM clock)",
    })
    .bind(id)
    .execute(connection)
    .await?;
    if written == 1 {
        Event::new("released").add::<B>(connection, id).await?;
    }
    Ok(written)
}

async fn extend<B: Backend>(
    connection: &mut Connection<B>,
    id: Uuid,
    lease: Duration,
) -> Result<u64, Fault> {
    query::<B>(Sql {
        postgres: "UPDATE sends
                   SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
                   WHERE id = $1 AND state = 'dispatched' AND lease_until > clock_timestamp()",
        sqlite: "UPDATE sends SET lease_until = (SELECT now FROM clock) + $2
                 WHERE id = $1 AND state = 'dispatched'
                   AND lease_until > (SELECT now FROM clock)",
    })
    .bind(id)
    .bind(millis(lease))
    .execute(connection)
    .await
}
