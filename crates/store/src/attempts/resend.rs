//! Resends: how often the sender of an attempt's mail may be asked for another mail.

use pipeline::{ResendOutcome, ResendRequest};
use uuid::Uuid;

use super::row::{AttemptRow, find_in};
use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;

/// Takes one resend from the attempt's budget, once for each idempotency key. The
/// attempt's row is locked first, so that two requests are served in turn.
pub(super) async fn resend<B: Backend>(
    session: Session<B>,
    request: ResendRequest,
) -> Result<ResendOutcome, Fault> {
    let mut transaction = session.begin().await?;
    query::<B>(Sql {
        postgres: "SELECT 1 FROM attempts WHERE id = $1 FOR UPDATE",
        // The transaction has the lock of the one writer already.
        sqlite: "SELECT 1 FROM attempts WHERE id = $1",
    })
    .bind(request.attempt.as_uuid())
    .execute(&mut transaction)
    .await?;
    let row = find_in::<B>(&mut transaction, request.attempt, &request.scope).await?;
    let resent = match row {
        Some(row) => grant::<B>(&mut transaction, &row, &request).await?,
        None => ResendOutcome::Unknown,
    };
    transaction.commit().await?;
    Ok(resent)
}

async fn grant<B: Backend>(
    connection: &mut Connection<B>,
    row: &AttemptRow,
    request: &ResendRequest,
) -> Result<ResendOutcome, Fault> {
    let granted: Option<(Uuid, i32)> = query::<B>(Sql::both(
        "SELECT attempt_id, left_after FROM resends WHERE owner = $1 AND idempotency_key = $2",
    ))
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .fetch_optional(connection)
    .await?;
    match granted {
        Some((attempt, left)) if attempt == row.id => {
            let left = u32::try_from(left).unwrap_or(0);
            return Ok(ResendOutcome::Repeated { left });
        }
        Some(_) => return Ok(ResendOutcome::KeyReused),
        None => {}
    }
    if row.remaining_ms <= 0 || row.outcome.is_some() {
        return Ok(ResendOutcome::Over);
    }
    let Ok(left) = u32::try_from(row.resends_left - 1) else {
        return Ok(ResendOutcome::Spent);
    };
    let inserted = query::<B>(Sql::both(
        "INSERT INTO resends (attempt_id, owner, idempotency_key, left_after)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (owner, idempotency_key) DO NOTHING",
    ))
    .bind(row.id)
    .bind(request.consumer.as_str())
    .bind(request.idempotency_key.as_str())
    .bind(row.resends_left - 1)
    .execute(connection)
    .await?;
    // The key was used for another attempt at the same moment.
    if inserted == 0 {
        return Ok(ResendOutcome::KeyReused);
    }
    query::<B>(Sql {
        postgres: "UPDATE attempts
                   SET resends_used = resends_used + 1, resent_at = clock_timestamp()
                   WHERE id = $1",
        sqlite: "UPDATE attempts
                 SET resends_used = resends_used + 1, resent_at = (SELECT now FROM clock)
                 WHERE id = $1",
    })
    .bind(row.id)
    .execute(connection)
    .await?;
    Ok(ResendOutcome::Granted { left })
}
